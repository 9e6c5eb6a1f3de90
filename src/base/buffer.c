#include "base/buffer.h"

#include "artreeformer.h"
#include "base/format.h"
#include "base/mem.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void buffer_init(buffer *b)
{
    static char empty[1]; /* only ever read: it has no room */
    *b = (buffer){.text = empty};
}

void buffer_free(buffer *b)
{
    if (b->room)
        free(b->text);
    buffer_init(b);
}

void buffer_clear(buffer *b)
{
    b->length = 0;
    if (b->room)
        b->text[0] = '\0';
}

/* Makes room for n more bytes and the NUL; false when memory is short. */
static bool make_room(buffer *b, size_t n)
{
    if (b->failed || n > SIZE_MAX / 2 - b->length - 1) {
        b->failed = true;
        return false;
    }
    size_t need = b->length + n + 1;
    if (need <= b->room)
        return true;
    size_t room = need + need / 2 + 64;
    char *text = mem_resize(b->room ? b->text : NULL, room, 1);
    if (!text) {
        b->failed = true;
        return false;
    }
    b->text = text;
    b->room = room;
    b->text[b->length] = '\0';
    return true;
}

void buffer_add(buffer *b, const char *bytes, size_t n)
{
    if (n == 0 || !make_room(b, n))
        return;
    memcpy(b->text + b->length, bytes, n);
    b->length += n;
    b->text[b->length] = '\0';
}

void buffer_text(buffer *b, const char *text)
{
    buffer_add(b, text, strlen(text));
}

void buffer_char(buffer *b, char c)
{
    buffer_add(b, &c, 1);
}

void buffer_printf(buffer *b, const char *format, ...)
{
    if (!make_room(b, 32)) /* enough for most, and once is enough then */
        return;
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int n = vsnprintf(b->text + b->length, b->room - b->length, format, args);
    if (n < 0)
        b->failed = true;
    else if ((size_t)n >= b->room - b->length && make_room(b, (size_t)n))
        vsnprintf(b->text + b->length, (size_t)n + 1, format, again);
    if (b->failed)
        b->text[b->length] = '\0';
    else
        b->length += (size_t)n;
    va_end(again);
    va_end(args);
}

/* A number as printf wrote it, with '.' for the locale's decimal point (of any length). */
static void add_number(buffer *b, const char *text)
{
    size_t head = strspn(text, "+-0123456789einfa");
    buffer_add(b, text, head);
    if (text[head] == '\0')
        return;
    buffer_char(b, '.');
    text += head;
    buffer_text(b, text + strcspn(text, "0123456789e"));
}

void buffer_double(buffer *b, double value, int digits)
{
    char text[400];
    if (digits > 0)
        snprintf(text, sizeof text, "%.*g", digits, value);
    else
        format_real(text, sizeof text, value);
    add_number(b, text);
}

void buffer_fixed(buffer *b, double value, int decimals)
{
    char text[400];
    snprintf(text, sizeof text, "%.*f", decimals, value);
    add_number(b, text);
}

int buffer_status(const buffer *b)
{
    return b->failed ? ART_ERR_NOMEM : ART_OK;
}

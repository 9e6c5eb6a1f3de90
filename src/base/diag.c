#include "base/diag.h"

#include "base/mem.h"
#include "base/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const LEVEL_NAME[] = {"note", "warning", "error"};

void diag_init(diag *d)
{
    memset(d, 0, sizeof *d);
}

void diag_clear(diag *d)
{
    for (size_t i = 0; i < d->count; i++)
        free(d->message[i].text);
    d->count = d->errors = d->lost = 0;
}

void diag_free(diag *d)
{
    diag_clear(d);
    free(d->message);
    diag_init(d);
}

/* The message as one line, allocated; NULL when memory is short. */
__attribute__((format(printf, 3, 0))) static char *message_text(diag_level level, diag_place place,
                                                                const char *format, va_list args)
{
    char head[64] = "";
    if (place.line && place.column)
        snprintf(head, sizeof head, ":%zu:%zu", place.line, place.column);
    else if (place.line)
        snprintf(head, sizeof head, ":%zu", place.line);
    va_list again;
    va_copy(again, args);
    int body = vsnprintf(NULL, 0, format, again);
    va_end(again);
    if (body < 0)
        return NULL;
    size_t size = (place.file ? strlen(place.file) : 0) + strlen(head) + 16 + (size_t)body;
    char *text = malloc(size);
    if (!text)
        return NULL;
    int used = snprintf(text, size, "%s%s%s%s: ", place.file ? place.file : "", head,
                        place.file ? ": " : "", LEVEL_NAME[level]);
    vsnprintf(text + used, size - (size_t)used, format, args);
    return text;
}

__attribute__((format(printf, 4, 0))) static void add(diag *d, diag_level level, diag_place place,
                                                      const char *format, va_list args)
{
    if (!d)
        return;
    if (level == DIAG_ERROR)
        d->errors++;
    size_t same = 0, last = 0;
    for (size_t i = 0; i < d->count; i++)
        if (d->message[i].format == format) {
            same++;
            last = i;
        }
    if (same >= DIAG_KEEP) {
        d->message[last].more++;
        return;
    }
    diag_message *grown = mem_grow(d->message, &d->room, d->count, sizeof *grown);
    if (!grown) {
        d->lost++;
        return;
    }
    d->message = grown;
    char *text = message_text(level, place, format, args);
    if (!text) {
        d->lost++;
        return;
    }
    d->message[d->count++] = (diag_message){.level = level, .text = text, .format = format};
}

int diag_error(diag *d, int status, diag_place place, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add(d, DIAG_ERROR, place, format, args);
    va_end(args);
    return status;
}

void diag_warning(diag *d, diag_place place, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add(d, DIAG_WARNING, place, format, args);
    va_end(args);
}

void diag_note(diag *d, diag_place place, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add(d, DIAG_NOTE, place, format, args);
    va_end(args);
}

void diag_advise(diag *d, diag_advice advice)
{
    if (d && d->count)
        d->message[d->count - 1].advice = advice;
}

char *diag_quote(char *out, size_t size, const char *text, size_t length)
{
    if (size < 8) { /* no room for '' and "..." */
        if (size)
            out[0] = '\0';
        return out;
    }
    size_t used = 0, limit = size - 5; /* keep room for ...' and the NUL */
    out[used++] = '\'';
    for (size_t i = 0; i < length;) {
        const char *s = text + i;
        unsigned char first = (unsigned char)s[0];
        size_t n = utf8_length(s, length - i);
        int plain = n > 1 || (n == 1 && first >= 0x20 && first != 0x7F);
        size_t width = plain ? n : 4;
        if (used + width > limit) {
            memcpy(out + used, "...", 3);
            used += 3;
            break;
        }
        if (plain)
            memcpy(out + used, s, n);
        else
            snprintf(out + used, 5, "\\x%02X", first);
        used += width;
        i += plain ? n : 1;
    }
    out[used++] = '\'';
    out[used] = '\0';
    return out;
}

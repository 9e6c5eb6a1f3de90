#include "seq/symbols.h"

#include "seq/alignment.h"

#include <string.h>

static const char OF_STATE[] = "?ACMGRSVTWYHKDBN-";

char symbol_of_state(uint8_t state)
{
    return OF_STATE[state];
}

static void set(uint16_t symbol[256], char c, int meaning)
{
    symbol[(unsigned char)c] = (uint16_t)meaning;
    if (c >= 'A' && c <= 'Z')
        symbol[(unsigned char)(c - 'A' + 'a')] = (uint16_t)meaning;
}

void symbols_init(uint16_t symbol[256])
{
    for (int c = 0; c < 256; c++)
        symbol[c] = SYMBOL_BAD;
    for (int state = 1; state <= STATE_GAP; state++)
        set(symbol, OF_STATE[state], state);
    for (const char *c = "XO?~"; *c; c++)
        set(symbol, *c, STATE_ANY);
    for (const char *c = " \t\n"; *c; c++)
        set(symbol, *c, SYMBOL_BLANK);
    set(symbol, 'T', STATE_T | SYMBOL_T);
    set(symbol, 'U', STATE_T | SYMBOL_U);
    set(symbol, '.', STATE_ANY | SYMBOL_DOT);
    set(symbol, '!', STATE_GAP | SYMBOL_BANG);
}

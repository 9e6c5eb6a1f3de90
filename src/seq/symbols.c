#include "seq/symbols.h"

#include "seq/alignment.h"

static const char OF_STATE[] = "?ACMGRSVTWYHKDBN-";

char symbol_of_state(uint8_t state)
{
    return OF_STATE[state];
}

void symbols_set(uint16_t symbol[256], char c, int meaning)
{
    if (c == '\0')
        return;
    symbol[(unsigned char)c] = (uint16_t)meaning;
    if (c >= 'A' && c <= 'Z')
        symbol[(unsigned char)(c - 'A' + 'a')] = (uint16_t)meaning;
    if (c >= 'a' && c <= 'z')
        symbol[(unsigned char)(c - 'a' + 'A')] = (uint16_t)meaning;
}

void symbols_dots_are_gaps(uint16_t symbol[256])
{
    symbols_set(symbol, '.', STATE_GAP);
    symbols_set(symbol, '~', STATE_GAP);
}

void symbols_init(uint16_t symbol[256])
{
    for (int c = 0; c < 256; c++)
        symbol[c] = SYMBOL_BAD;
    for (int state = 1; state <= STATE_GAP; state++)
        symbols_set(symbol, OF_STATE[state], state);
    for (const char *c = "XO?~"; *c; c++)
        symbols_set(symbol, *c, STATE_ANY);
    for (const char *c = " \t\n"; *c; c++)
        symbols_set(symbol, *c, SYMBOL_BLANK);
    symbols_set(symbol, 'T', STATE_T | SYMBOL_T);
    symbols_set(symbol, 'U', STATE_T | SYMBOL_U);
    symbols_set(symbol, '.', STATE_ANY | SYMBOL_DOT);
    symbols_set(symbol, '!', STATE_GAP | SYMBOL_BANG);
}

/* edge_slot_rows.h: which slots belong to which row (density/edge_conv.h). Rows 0, 1 and 2 are
 * leaves, then inner row and leaf take turns. */
#ifndef DENSITY_EDGE_SLOT_ROWS_H
#define DENSITY_EDGE_SLOT_ROWS_H

#include <stdint.h>

static inline int row_is_leaf(int32_t row)
{
    return row < 3 || row % 2 == 0;
}

static inline int32_t first_slot(int32_t row)
{
    return row < 2 ? row : row % 2 ? 2 * row - 3 : 2 * row - 2;
}

static inline int32_t row_slots(int32_t row)
{
    return row_is_leaf(row) ? 1 : 3;
}

#endif

/* draw.h: a tree as text, for terminals and reports.
 *
 *        ┌── a
 *     ┌─1┤
 *     │  └─── b
 *     ┤
 *     ├── c
 *     │
 *     └───── d
 *
 * Horizontal distances are branch lengths if all are known, otherwise steps from the root. The
 * support is written on the branch above its node, in percent; branches are at least long enough
 * for it. */
#ifndef RESULTS_DRAW_H
#define RESULTS_DRAW_H

#include "base/buffer.h"
#include "tree/consensus.h"
#include "tree/taxa.h"

/* The deepest taxon is drawn at about the given column. Control characters in names are shown as
 * '?'. O(N * lines). */
int draw_tree(buffer *out, const consensus *c, const taxa *names, int columns);

#endif

/* checkpoint.h: files that a run can go on from, whatever happens to it.
 *
 * A checkpoint is a safetensors file with a checksum over everything in it. The one before is
 * kept beside it, so that at every instant there is a whole one: `<prefix>.ckp.safetensors` and
 * `<prefix>.ckp.prev.safetensors`. NaN cannot be written (io/safetensors.h). */
#ifndef TRAIN_CHECKPOINT_H
#define TRAIN_CHECKPOINT_H

#include "base/diag.h"
#include "io/safetensors.h"

#include <stdbool.h>
#include <stdint.h>

/* Writes s (and sets its metadata "checksum"): the present checkpoint becomes the previous
 * one, unless it is known to be damaged; then the previous one stays what it is. On failure the
 * present one stays. */
int checkpoint_write(safetensors *s, const char *prefix, bool is_damaged, diag *d);

/* True if there is a checkpoint, present or previous. */
bool checkpoint_exists(const char *prefix);

/* Reads the checkpoint; if it is missing or damaged, the previous one, with a warning. The
 * name of the file that was read goes to name (size bytes), and whether it is the previous one
 * to *is_previous. ART_ERR_INPUT if neither is whole; d says what is wrong with each. */
int checkpoint_read(safetensors *s, char *name, size_t size, bool *is_previous, const char *prefix,
                    diag *d);

/* Whether all the decisions [count][N-3] of a checkpoint are of trees; ART_ERR_MISMATCH. */
int checkpoint_trees(const int32_t *decision, size_t count, int n_taxa, const char *file, diag *d);

/* Removes both, as the run has ended. */
int checkpoint_remove(const char *prefix, diag *d);

#endif

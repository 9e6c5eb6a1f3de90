/* checkpoint.h: files from which an interrupted run can be resumed.
 *
 * A checkpoint is a safetensors file with a checksum over everything in it. The previous one is
 * kept as well, so that at any time there is a complete one: `<prefix>.ckp.safetensors` and
 * `<prefix>.ckp.prev.safetensors`. It contains the fields of objects (io/saved_state.h).
 *
 *     saved_state s = {0};
 *     status = trainer_fields(t, &s);
 *     status = checkpoint_write(&s, prefix, false, d);
 *     saved_state_free(&s);
 *
 *     status = checkpoint_read(&s, &is_previous, prefix, d);
 *     status = trainer_fields(t, &s);
 *     status = saved_state_end(&s);
 *     saved_state_free(&s); */
#ifndef TRAIN_CHECKPOINT_H
#define TRAIN_CHECKPOINT_H

#include "io/saved_state.h"

/* One file by itself: writes s (and sets its metadata "checkpoint_format" and "checksum"), whole or
 * not at all; and reads it into a state that loads. ART_ERR_INPUT if it is damaged or of another
 * version of the program. d must outlive s. */
int checkpoint_write_file(saved_state *s, const char *path, diag *d);
int checkpoint_read_file(saved_state *s, const char *path, diag *d);

/* Writes s as <prefix>.ckp.safetensors: the current checkpoint becomes the previous one, unless it
 * is known to be damaged; then the previous one is kept. On failure the current one is kept. */
int checkpoint_write(saved_state *s, const char *prefix, bool is_damaged, diag *d);

/* True if there is a checkpoint, current or previous. */
bool checkpoint_exists(const char *prefix);

/* Reads the checkpoint; if it is missing or damaged, the previous one, with a warning. *s becomes a
 * state for loading, s->file the name of the file that was read; *is_previous tells whether it is
 * the previous one. ART_ERR_INPUT if neither is intact and of this version of the program; d
 * explains what is wrong with each. d must outlive s. */
int checkpoint_read(saved_state *s, bool *is_previous, const char *prefix, diag *d);

/* Removes both at the end of a run. */
int checkpoint_remove(const char *prefix, diag *d);

#endif

/* rooting_options.h: where commands root the trees that they write and draw. */
#ifndef CLI_ROOTING_OPTIONS_H
#define CLI_ROOTING_OPTIONS_H

#include "cli/session.h"
#include "tree/rooting.h"

typedef struct rooting_settings {
    const char *outgroup; /* NULL: none */
    int root;             /* 1: midpoint */
} rooting_settings;

extern const option ROOTING_OPTIONS[]; /* --outgroup --root */

/* ART_ERR_USAGE for names that are not among the taxa, and for both options together. *r is always
 * safe to free. */
int rooting_open(rooting *r, const rooting_settings *set, const taxa *names, diag *d);

/* Warns if the outgroup is not monophyletic in most of the trees, and says in how many it is. */
void rooting_warn(session *s, const rooting *r, const split_table *splits);

#endif

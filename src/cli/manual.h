/* manual.h: the manual page, generated from the option tables. */
#ifndef CLI_MANUAL_H
#define CLI_MANUAL_H

#include "io/output.h"

/* artreeformer.1. ART_ERR_NOMEM if memory is short. */
int manual_page(output *o);

#endif

/* json_number.h: numbers in JSON, which has no infinity and no NaN. */
#ifndef IO_JSON_NUMBER_H
#define IO_JSON_NUMBER_H

#include <jansson.h>

/* Sets a number, or null if it is not finite. ART_ERR_NOMEM if memory is short. */
int json_set_number(json_t *object, const char *key, double value);

#endif

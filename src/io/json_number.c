#include "io/json_number.h"

#include "artreeformer.h"

#include <math.h>

int json_set_number(json_t *object, const char *key, double value)
{
    return json_object_set_new(object, key, isfinite(value) ? json_real(value) : json_null())
               ? ART_ERR_NOMEM
               : ART_OK;
}

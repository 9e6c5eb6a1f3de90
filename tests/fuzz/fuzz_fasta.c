#include "alignment_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    alignment_fuzz(data, size, NULL);
    alignment_fuzz(data, size, &(alignment_options){.full_names = true});
    return 0;
}

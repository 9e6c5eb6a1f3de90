#include "alignment_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Clustal, MSF and Stockholm: the first bytes choose among them. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    alignment_fuzz(data, size, NULL);
    return 0;
}

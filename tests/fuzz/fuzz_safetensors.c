/* Whatever is read can be written and is then read as the same set, and written as the same
 * bytes. */
#include "io/safetensors.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void must(int condition)
{
    if (!condition)
        abort();
}

static void must_be_equal(const safetensors *a, const safetensors *b)
{
    must(a->count == b->count && a->text_count == b->text_count);
    for (size_t i = 0; i < a->count; i++) {
        const tensor *x = &a->tensor[i], *y = &b->tensor[i];
        must(strcmp(x->name, y->name) == 0 && x->dtype == y->dtype && x->rank == y->rank);
        must(memcmp(x->shape, y->shape, sizeof x->shape) == 0 && x->count == y->count);
        must(memcmp(x->data, y->data, x->count * tensor_width(x->dtype)) == 0);
    }
    for (size_t i = 0; i < a->text_count; i++) {
        must(strcmp(a->text[i].key, b->text[i].key) == 0);
        must(strcmp(a->text[i].value, b->text[i].value) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    safetensors read, again;
    void *bytes, *same;
    size_t n, n_same;
    diag d;
    diag_init(&d);
    int status = safetensors_parse(&read, data, size, "input", &d);
    must((status == 0) == (d.errors == 0));
    diag_free(&d);
    if (status)
        return 0;
    must(safetensors_format(&read, &bytes, &n, "output", NULL) == 0);
    must(safetensors_parse(&again, bytes, n, "output", NULL) == 0);
    must_be_equal(&read, &again);
    must(safetensors_format(&again, &same, &n_same, "same", NULL) == 0);
    must(n == n_same && memcmp(bytes, same, n) == 0);
    safetensors_free(&read);
    safetensors_free(&again);
    free(bytes);
    free(same);
    return 0;
}

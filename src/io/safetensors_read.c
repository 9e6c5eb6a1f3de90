/* Reading of safetensors files; the set itself and writing are in safetensors.c. */
#include "io/safetensors.h"

#include "artreeformer.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "numbers are stored little-endian");

enum { ALIGN = 64 };

/* Where the bytes of a tensor are, behind the header. */
typedef struct placed {
    size_t begin, end, index;
} placed;

/* One file on its way from bytes to a set. */
typedef struct reader {
    safetensors *s;
    const char *file;
    diag *d;
    placed *place; /* [count] */
    char quoted[128];
} reader;

static const char *quote(reader *r, const char *text)
{
    return diag_quote(r->quoted, sizeof r->quoted, text, strlen(text));
}

#define FAIL(r, status, ...) diag_error((r)->d, status, (diag_place){(r)->file, 0, 0}, __VA_ARGS__)

static int read_metadata(reader *r, json_t *object)
{
    safetensors *s = r->s;
    const char *key;
    json_t *value;
    if (!json_is_object(object))
        return FAIL(r, ART_ERR_INPUT, "\"__metadata__\" in the header is not a map of strings");
    s->text_room = json_object_size(object);
    s->text = mem_zeros(s->text_room, sizeof *s->text);
    if (!s->text)
        return ART_ERR_NOMEM;
    json_object_foreach(object, key, value)
    {
        if (!json_is_string(value))
            return FAIL(r, ART_ERR_INPUT, "metadata %s is not a string", quote(r, key));
        safetensors_text *text = &s->text[s->text_count++];
        text->key = mem_text(key, strlen(key));
        text->value = mem_text(json_string_value(value), json_string_length(value));
        if (!text->key || !text->value)
            return ART_ERR_NOMEM;
    }
    return ART_OK;
}

/* A list of n non-negative integers into out. */
static int read_sizes(size_t *out, size_t n, json_t *list)
{
    for (size_t i = 0; i < n; i++) {
        json_t *item = json_array_get(list, i);
        if (!json_is_integer(item) || json_integer_value(item) < 0)
            return ART_ERR_INPUT;
        out[i] = (size_t)json_integer_value(item);
    }
    return ART_OK;
}

/* One entry of the header; the data pointer stays NULL for now. */
static int read_entry(reader *r, const char *name, json_t *entry)
{
    json_t *dtype = json_object_get(entry, "dtype");
    json_t *shape = json_object_get(entry, "shape");
    json_t *offsets = json_object_get(entry, "data_offsets");
    if (!*name)
        return FAIL(r, ART_ERR_INPUT, "a tensor in the header has no name");
    if (!json_is_string(dtype) || !json_is_array(shape) || !json_is_array(offsets) ||
        json_object_size(entry) != 3)
        return FAIL(r, ART_ERR_INPUT,
                    "tensor %s must have exactly \"dtype\", \"shape\" and \"data_offsets\"",
                    quote(r, name));
    tensor t = {0};
    size_t sizes[TENSOR_RANK], span[2], rank = json_array_size(shape);
    if (tensor_dtype_of(&t.dtype, json_string_value(dtype)) != ART_OK)
        return FAIL(r, ART_ERR_UNSUPPORTED,
                    "tensor %s has a dtype other than F32, F64, I32, I64, U8", quote(r, name));
    if (rank > TENSOR_RANK)
        return FAIL(r, ART_ERR_UNSUPPORTED,
                    "tensor %s has %zu dimensions; at most %d are supported", quote(r, name), rank,
                    TENSOR_RANK);
    if (read_sizes(sizes, rank, shape) || tensor_set_shape(&t, (int)rank, sizes))
        return FAIL(r, ART_ERR_INPUT, "the shape of tensor %s is not a list of valid sizes",
                    quote(r, name));
    if (json_array_size(offsets) != 2 || read_sizes(span, 2, offsets) || span[1] < span[0])
        return FAIL(r, ART_ERR_INPUT, "the data_offsets of tensor %s are not [begin, end]",
                    quote(r, name));
    if (span[1] - span[0] != tensor_bytes(&t))
        return FAIL(r, ART_ERR_INPUT, "tensor %s has %zu bytes, but its shape and dtype need %zu",
                    quote(r, name), span[1] - span[0], tensor_bytes(&t));
    t.name = mem_text(name, strlen(name));
    if (!t.name)
        return ART_ERR_NOMEM;
    r->place[r->s->count] = (placed){span[0], span[1], r->s->count};
    r->s->tensor[r->s->count++] = t;
    return ART_OK;
}

static int read_header(reader *r, const char *text, size_t n)
{
    json_error_t error;
    if (n == 0 || text[0] != '{')
        return FAIL(r, ART_ERR_INPUT, "not a safetensors file: the header is not a JSON object");
    json_t *header = json_loadb(text, n, JSON_REJECT_DUPLICATES, &error);
    if (!header)
        return FAIL(r, ART_ERR_INPUT, "the header is not valid JSON: %s at byte %d",
                    quote(r, error.text), error.position);
    const char *name;
    json_t *entry;
    r->s->room = json_object_size(header);
    r->s->tensor = mem_zeros(r->s->room, sizeof *r->s->tensor);
    r->place = mem_zeros(r->s->room, sizeof *r->place);
    int status = r->s->tensor && r->place ? ART_OK : ART_ERR_NOMEM;
    json_object_foreach(header, name, entry)
    {
        if (status)
            break;
        status = strcmp(name, SAFETENSORS_METADATA) == 0 ? read_metadata(r, entry)
                                                         : read_entry(r, name, entry);
    }
    json_decref(header);
    return status;
}

static int by_place(const void *a, const void *b)
{
    const placed *x = a, *y = b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    if (x->end != y->end)
        return x->end < y->end ? -1 : 1;
    return x->index < y->index ? -1 : 1;
}

/* Brings the tensors into the order of their bytes; they must cover exactly [0, n). */
static int sort_tensors(reader *r, size_t n)
{
    safetensors *s = r->s;
    tensor *sorted = mem_zeros(s->room, sizeof *sorted);
    if (!sorted)
        return ART_ERR_NOMEM;
    qsort(r->place, s->count, sizeof *r->place, by_place);
    for (size_t i = 0; i < s->count; i++)
        sorted[i] = s->tensor[r->place[i].index];
    free(s->tensor);
    s->tensor = sorted;
    size_t at = 0;
    for (size_t i = 0; i < s->count; i++) {
        const placed *p = &r->place[i];
        if (p->begin != at)
            return FAIL(r, ART_ERR_INPUT,
                        "tensor %s begins at byte %zu of the data, expected %zu: %s",
                        quote(r, sorted[i].name), p->begin, at,
                        p->begin < at ? "it overlaps the one before" : "there is a gap");
        if (p->end > n)
            return FAIL(r, ART_ERR_INPUT,
                        "tensor %s ends at byte %zu of the data, but there are only %zu -- is the "
                        "file truncated?",
                        quote(r, sorted[i].name), p->end, n);
        at = p->end;
    }
    if (at != n)
        return FAIL(r, ART_ERR_INPUT, "%zu bytes after the last tensor do not belong to any tensor",
                    n - at);
    return ART_OK;
}

/* Copies the numbers into one block, every tensor on a cache line, and looks at the floats. */
static int copy_data(reader *r, const unsigned char *data)
{
    safetensors *s = r->s;
    size_t total = 0;
    for (size_t i = 0; i < s->count; i++)
        total += (tensor_bytes(&s->tensor[i]) + ALIGN - 1) / ALIGN * ALIGN;
    unsigned char *to = s->block = mem_aligned(total, 1);
    if (!to)
        return ART_ERR_NOMEM;
    for (size_t i = 0; i < s->count; i++) {
        tensor *t = &s->tensor[i];
        size_t bytes = tensor_bytes(t);
        memcpy(to, data, bytes);
        t->data = to;
        to += (bytes + ALIGN - 1) / ALIGN * ALIGN;
        data += bytes;
        size_t bad = tensor_first_bad(t);
        if (bad < t->count)
            return FAIL(r, ART_ERR_INPUT, "tensor %s: number %zu is NaN or infinite",
                        quote(r, t->name), bad);
    }
    return ART_OK;
}

static int parse(reader *r, const unsigned char *bytes, size_t n)
{
    uint64_t header = 0;
    if (n < sizeof header)
        return FAIL(r, ART_ERR_INPUT, "not a safetensors file: it has only %zu bytes", n);
    memcpy(&header, bytes, sizeof header);
    if (header > SAFETENSORS_HEADER)
        return FAIL(r, ART_ERR_LIMIT,
                    "the header would have %llu bytes, more than the limit of %d -- is this a "
                    "safetensors file?",
                    (unsigned long long)header, SAFETENSORS_HEADER);
    if (header > n - sizeof header)
        return FAIL(r, ART_ERR_INPUT,
                    "the header has %llu bytes, but the file only %zu -- is it truncated?",
                    (unsigned long long)header, n);
    const unsigned char *data = bytes + sizeof header + header;
    int status = read_header(r, (const char *)bytes + sizeof header, (size_t)header);
    if (status == ART_OK)
        status = sort_tensors(r, n - sizeof header - (size_t)header);
    return status == ART_OK ? copy_data(r, data) : status;
}

int safetensors_parse(safetensors *s, const void *bytes, size_t n, const char *file, diag *d)
{
    reader r = {.s = s, .file = file, .d = d};
    memset(s, 0, sizeof *s);
    int status = parse(&r, bytes, n);
    if (status == ART_ERR_NOMEM)
        diag_error(d, status, (diag_place){file, 0, 0}, "out of memory");
    free(r.place);
    if (status)
        safetensors_free(s);
    return status;
}

/* The bytes of a regular file, to be freed; NULL with the reason in *status. */
static void *read_bytes(const char *path, size_t *n, int *status, diag *d)
{
    diag_place place = {path, 0, 0};
    struct stat info;
    unsigned char *bytes = NULL;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0 || fstat(file, &info) != 0) {
        *status = diag_error(d, ART_ERR_INPUT, place, "cannot be opened: %s", strerror(errno));
        goto out;
    }
    if (!S_ISREG(info.st_mode)) {
        *status = diag_error(d, ART_ERR_INPUT, place, "not a regular file");
        goto out;
    }
    size_t size = (size_t)info.st_size, done = 0;
    bytes = mem_resize(NULL, size + 1, 1);
    if (!bytes) {
        *status = diag_error(d, ART_ERR_NOMEM, place, "out of memory: %zu bytes", size);
        goto out;
    }
    while (done <= size) { /* one byte more than there should be, to see the end */
        ssize_t got = read(file, bytes + done, size + 1 - done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        done += (size_t)got;
    }
    if (done != size) {
        *status = diag_error(
            d, ART_ERR_IO, place,
            "reading failed or the file changed while it was read (%zu of %zu bytes)", done, size);
        goto out;
    }
    *n = size;
    *status = ART_OK;
out:
    if (file >= 0 && close(file) != 0 && *status == ART_OK)
        *status = diag_error(d, ART_ERR_IO, place, "closing failed: %s", strerror(errno));
    if (*status) {
        free(bytes);
        bytes = NULL;
    }
    return bytes;
}

int safetensors_read(safetensors *s, const char *path, diag *d)
{
    size_t n = 0;
    int status = ART_OK;
    memset(s, 0, sizeof *s);
    void *bytes = read_bytes(path, &n, &status, d);
    if (!bytes)
        return status;
    status = safetensors_parse(s, bytes, n, path, d);
    free(bytes);
    return status;
}

#include "base/safetensors.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "base/output.h"
#include "base/utf8.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "numbers are stored little-endian");

static const char METADATA[] = "__metadata__";

static const struct {
    const char *name;
    size_t width;
} DTYPE[] = {
    [TENSOR_F32] = {"F32", 4}, [TENSOR_F64] = {"F64", 8}, [TENSOR_I32] = {"I32", 4},
    [TENSOR_I64] = {"I64", 8}, [TENSOR_U8] = {"U8", 1},
};
enum { N_DTYPES = sizeof DTYPE / sizeof DTYPE[0], ALIGN = 64 };

size_t tensor_width(tensor_dtype dtype)
{
    return DTYPE[dtype].width;
}

const char *tensor_dtype_name(tensor_dtype dtype)
{
    return DTYPE[dtype].name;
}

void safetensors_free(safetensors *s)
{
    for (size_t i = 0; i < s->count; i++)
        free(s->tensor[i].name);
    for (size_t i = 0; i < s->text_count; i++) {
        free(s->text[i].key);
        free(s->text[i].value);
    }
    free(s->tensor);
    free(s->text);
    free(s->block);
    memset(s, 0, sizeof *s);
}

static tensor *find(const safetensors *s, const char *name)
{
    for (size_t i = 0; i < s->count; i++)
        if (strcmp(s->tensor[i].name, name) == 0)
            return &s->tensor[i];
    return NULL;
}

const tensor *safetensors_find(const safetensors *s, const char *name)
{
    return find(s, name);
}

const tensor *safetensors_use(safetensors *s, const char *name)
{
    tensor *t = find(s, name);
    if (t)
        t->used = 1;
    return t;
}

int safetensors_unused(const safetensors *s, const char *file, diag *d)
{
    int status = ART_OK;
    char quoted[128];
    for (size_t i = 0; i < s->count; i++) {
        const char *name = s->tensor[i].name;
        if (!s->tensor[i].used)
            status = diag_error(d, ART_ERR_MISMATCH, (diag_place){file, 0, 0},
                                "tensor %s does not belong to this kind of file -- was it written "
                                "by another version?",
                                diag_quote(quoted, sizeof quoted, name, strlen(name)));
    }
    return status;
}

static safetensors_text *find_text(const safetensors *s, const char *key)
{
    for (size_t i = 0; i < s->text_count; i++)
        if (strcmp(s->text[i].key, key) == 0)
            return &s->text[i];
    return NULL;
}

const char *safetensors_get(const safetensors *s, const char *key)
{
    const safetensors_text *text = find_text(s, key);
    return text ? text->value : NULL;
}

/* Makes room for one more element in a growing array. */
static int grow(void *array_of_pointer, size_t count, size_t *room, size_t size)
{
    if (count < *room)
        return ART_OK;
    void *old, *grown;
    memcpy(&old, array_of_pointer, sizeof old);
    size_t more = *room ? 2 * *room : 32;
    grown = mem_resize(old, more, size);
    if (!grown)
        return ART_ERR_NOMEM;
    memcpy(array_of_pointer, &grown, sizeof grown);
    *room = more;
    return ART_OK;
}

static int append_text(safetensors *s, const char *key, const char *value)
{
    int status = grow(&s->text, s->text_count, &s->text_room, sizeof *s->text);
    if (status)
        return status;
    safetensors_text text = {mem_text(key, strlen(key)), mem_text(value, strlen(value))};
    if (!text.key || !text.value) {
        free(text.key);
        free(text.value);
        return ART_ERR_NOMEM;
    }
    s->text[s->text_count++] = text;
    return ART_OK;
}

int safetensors_set(safetensors *s, const char *key, const char *value)
{
    safetensors_text *text = find_text(s, key);
    if (!text)
        return append_text(s, key, value);
    char *copy = mem_text(value, strlen(value));
    if (!copy)
        return ART_ERR_NOMEM;
    free(text->value);
    text->value = copy;
    return ART_OK;
}

/* Fills in shape and count; ART_ERR_LIMIT if the bytes do not fit in ptrdiff_t. */
static int set_shape(tensor *t, int rank, const size_t *shape)
{
    size_t bytes = DTYPE[t->dtype].width;
    t->rank = rank;
    t->count = 1;
    for (int i = 0; i < TENSOR_RANK; i++)
        t->shape[i] = i < rank ? shape[i] : 1;
    for (int i = 0; i < rank; i++)
        if (__builtin_mul_overflow(bytes, shape[i], &bytes) || bytes > PTRDIFF_MAX)
            return ART_ERR_LIMIT;
    t->count = bytes / DTYPE[t->dtype].width;
    return ART_OK;
}

static int append(safetensors *s, const tensor *t, const char *name)
{
    int status = grow(&s->tensor, s->count, &s->room, sizeof *s->tensor);
    if (status)
        return status;
    char *copy = mem_text(name, strlen(name));
    if (!copy)
        return ART_ERR_NOMEM;
    s->tensor[s->count] = *t;
    s->tensor[s->count++].name = copy;
    return ART_OK;
}

int safetensors_add(safetensors *s, const char *name, tensor_dtype dtype, int rank,
                    const size_t *shape, const void *data)
{
    tensor t = {.dtype = dtype, .data = data};
    if (!*name || strcmp(name, METADATA) == 0 || find(s, name) || rank < 0 || rank > TENSOR_RANK ||
        set_shape(&t, rank, shape) != ART_OK)
        return ART_ERR_USAGE;
    return append(s, &t, name);
}

/* The index of the first number that is NaN or infinite; count if there is none. */
static size_t first_bad(const tensor *t)
{
    size_t i = 0;
    if (t->dtype == TENSOR_F32) {
        const float *x = t->data;
        while (i < t->count && isfinite(x[i]))
            i++;
    } else if (t->dtype == TENSOR_F64) {
        const double *x = t->data;
        while (i < t->count && isfinite(x[i]))
            i++;
    } else {
        i = t->count;
    }
    return i;
}

/* Reading */

/* One file on its way from bytes to a set. */
typedef struct reader {
    safetensors *s;
    const char *file;
    diag *d;
    size_t (*span)[2]; /* [count], the bytes of each tensor behind the header */
    size_t span_room;
    char quoted[128];
} reader;

static const char *quote(reader *r, const char *text)
{
    return diag_quote(r->quoted, sizeof r->quoted, text, strlen(text));
}

#define FAIL(r, status, ...) diag_error((r)->d, status, (diag_place){(r)->file, 0, 0}, __VA_ARGS__)

static int read_metadata(reader *r, json_t *object)
{
    const char *key;
    json_t *value;
    if (!json_is_object(object))
        return FAIL(r, ART_ERR_INPUT, "\"__metadata__\" in the header is not a map of strings");
    json_object_foreach(object, key, value)
    {
        if (!json_is_string(value))
            return FAIL(r, ART_ERR_INPUT, "metadata %s is not a string", quote(r, key));
        int status = append_text(r->s, key, json_string_value(value));
        if (status)
            return status;
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

static int read_dtype(tensor_dtype *dtype, const char *name)
{
    for (int i = 0; i < N_DTYPES; i++)
        if (strcmp(DTYPE[i].name, name) == 0) {
            *dtype = (tensor_dtype)i;
            return ART_OK;
        }
    return ART_ERR_UNSUPPORTED;
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
    if (read_dtype(&t.dtype, json_string_value(dtype)) != ART_OK)
        return FAIL(r, ART_ERR_UNSUPPORTED,
                    "tensor %s has a dtype other than F32, F64, I32, I64, U8", quote(r, name));
    if (rank > TENSOR_RANK)
        return FAIL(r, ART_ERR_UNSUPPORTED,
                    "tensor %s has %zu dimensions; at most %d are supported", quote(r, name), rank,
                    TENSOR_RANK);
    if (read_sizes(sizes, rank, shape) || set_shape(&t, (int)rank, sizes))
        return FAIL(r, ART_ERR_INPUT, "the shape of tensor %s is not a list of possible sizes",
                    quote(r, name));
    if (json_array_size(offsets) != 2 || read_sizes(span, 2, offsets) || span[1] < span[0])
        return FAIL(r, ART_ERR_INPUT, "the data_offsets of tensor %s are not [begin, end]",
                    quote(r, name));
    size_t bytes = t.count * DTYPE[t.dtype].width;
    if (span[1] - span[0] != bytes)
        return FAIL(r, ART_ERR_INPUT, "tensor %s has %zu bytes, but its shape and dtype need %zu",
                    quote(r, name), span[1] - span[0], bytes);
    int status = append(r->s, &t, name);
    if (status == ART_OK)
        status = grow(&r->span, r->s->count - 1, &r->span_room, sizeof *r->span);
    if (status == ART_OK)
        memcpy(r->span[r->s->count - 1], span, sizeof span);
    return status;
}

static int read_header(reader *r, const char *text, size_t n)
{
    json_error_t error;
    if (n == 0 || text[0] != '{')
        return FAIL(r, ART_ERR_INPUT, "not a safetensors file: the header is no JSON object");
    json_t *header = json_loadb(text, n, JSON_REJECT_DUPLICATES, &error);
    if (!header)
        return FAIL(r, ART_ERR_INPUT, "the header is not valid JSON: %s at byte %d",
                    quote(r, error.text), error.position);
    int status = ART_OK;
    const char *name;
    json_t *entry;
    json_object_foreach(header, name, entry)
    {
        status = strcmp(name, METADATA) == 0 ? read_metadata(r, entry) : read_entry(r, name, entry);
        if (status)
            break;
    }
    json_decref(header);
    return status;
}

typedef struct placed {
    size_t begin, end, index;
} placed;

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
static int sort_tensors(reader *r, placed *place, tensor *sorted, size_t n)
{
    safetensors *s = r->s;
    for (size_t i = 0; i < s->count; i++)
        place[i] = (placed){r->span[i][0], r->span[i][1], i};
    qsort(place, s->count, sizeof *place, by_place);
    size_t at = 0;
    for (size_t i = 0; i < s->count; i++) {
        sorted[i] = s->tensor[place[i].index];
        if (place[i].begin != at)
            return FAIL(r, ART_ERR_INPUT,
                        "tensor %s begins at byte %zu of the data, expected %zu: %s",
                        quote(r, sorted[i].name), place[i].begin, at,
                        place[i].begin < at ? "it overlaps the one before" : "there is a hole");
        if (place[i].end > n)
            return FAIL(r, ART_ERR_INPUT,
                        "tensor %s ends at byte %zu of the data, but there are only %zu -- is the "
                        "file cut off?",
                        quote(r, sorted[i].name), place[i].end, n);
        at = place[i].end;
    }
    if (at != n)
        return FAIL(r, ART_ERR_INPUT, "%zu bytes behind the last tensor belong to none", n - at);
    if (s->count)
        memcpy(s->tensor, sorted, s->count * sizeof *sorted);
    return ART_OK;
}

/* Copies the numbers into one block, every tensor on a cache line, and looks at the floats. */
static int copy_data(reader *r, const unsigned char *data)
{
    safetensors *s = r->s;
    size_t total = 0;
    for (size_t i = 0; i < s->count; i++)
        total += (s->tensor[i].count * DTYPE[s->tensor[i].dtype].width + ALIGN - 1) / ALIGN * ALIGN;
    unsigned char *to = s->block = mem_aligned(total, 1);
    if (!to)
        return ART_ERR_NOMEM;
    for (size_t i = 0; i < s->count; i++) {
        tensor *t = &s->tensor[i];
        size_t bytes = t->count * DTYPE[t->dtype].width;
        memcpy(to, data, bytes);
        t->data = to;
        to += (bytes + ALIGN - 1) / ALIGN * ALIGN;
        data += bytes;
        size_t bad = first_bad(t);
        if (bad < t->count)
            return FAIL(r, ART_ERR_INPUT, "tensor %s: number %zu is NaN or infinite",
                        quote(r, t->name), bad);
    }
    return ART_OK;
}

static int parse(reader *r, const unsigned char *bytes, size_t n)
{
    uint64_t header = 0;
    placed *place = NULL;
    tensor *sorted = NULL;
    if (n < sizeof header)
        return FAIL(r, ART_ERR_INPUT, "not a safetensors file: it has only %zu bytes", n);
    memcpy(&header, bytes, sizeof header);
    if (header > SAFETENSORS_HEADER)
        return FAIL(r, ART_ERR_LIMIT,
                    "the header would have %llu bytes, more than %d -- is this a safetensors file?",
                    (unsigned long long)header, SAFETENSORS_HEADER);
    if (header > n - sizeof header)
        return FAIL(r, ART_ERR_INPUT,
                    "the header has %llu bytes, but the file only %zu -- is it "
                    "cut off?",
                    (unsigned long long)header, n);
    const unsigned char *data = bytes + sizeof header + header;
    int status = read_header(r, (const char *)bytes + sizeof header, (size_t)header);
    if (status)
        goto out;
    status = ART_ERR_NOMEM;
    place = mem_zeros(r->s->count, sizeof *place);
    sorted = mem_zeros(r->s->count, sizeof *sorted);
    if (!place || !sorted)
        goto out;
    status = sort_tensors(r, place, sorted, n - sizeof header - (size_t)header);
    if (status == ART_OK)
        status = copy_data(r, data);
out:
    free(place);
    free(sorted);
    return status;
}

int safetensors_parse(safetensors *s, const void *bytes, size_t n, const char *file, diag *d)
{
    reader r = {.s = s, .file = file, .d = d};
    memset(s, 0, sizeof *s);
    int status = parse(&r, bytes, n);
    if (status == ART_ERR_NOMEM)
        diag_error(d, status, (diag_place){file, 0, 0}, "out of memory");
    free(r.span);
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
        *status = diag_error(d, ART_ERR_IO, place,
                             "reading failed or the file changed meanwhile (%zu of %zu bytes)",
                             done, size);
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

/* Writing */

/* A tensor's entry of the header; NULL when memory is short. */
static json_t *entry_json(const tensor *t, size_t begin, size_t end)
{
    json_t *shape = json_array();
    for (int i = 0; i < t->rank && shape; i++)
        if (json_array_append_new(shape, json_integer((json_int_t)t->shape[i]))) {
            json_decref(shape);
            shape = NULL;
        }
    return json_pack("{s:s, s:o, s:[I,I]}", "dtype", DTYPE[t->dtype].name, "shape", shape,
                     "data_offsets", (json_int_t)begin, (json_int_t)end);
}

/* The header as text, to be freed; *n bytes of numbers follow it. NULL when memory is short. */
static char *header_text(const safetensors *s, size_t *n)
{
    char *text = NULL;
    json_t *header = json_object(), *metadata = json_object();
    size_t at = 0;
    for (size_t i = 0; i < s->text_count; i++)
        if (json_object_set_new(metadata, s->text[i].key, json_string(s->text[i].value)))
            goto out;
    if (s->text_count && json_object_set(header, METADATA, metadata))
        goto out;
    for (size_t i = 0; i < s->count; i++) {
        const tensor *t = &s->tensor[i];
        size_t end = at + t->count * DTYPE[t->dtype].width;
        if (json_object_set_new(header, t->name, entry_json(t, at, end)))
            goto out;
        at = end;
    }
    *n = at;
    text = json_dumps(header, JSON_COMPACT);
out:
    json_decref(metadata);
    json_decref(header);
    return text;
}

static int is_utf8(const char *text)
{
    size_t n = strlen(text);
    return utf8_invalid(text, n) == n;
}

/* Is there anything that may not be in a file? */
static int check_writable(const safetensors *s, diag_place place, diag *d)
{
    char quoted[128];
    int status = ART_OK;
    for (size_t i = 0; i < s->text_count && !status; i++)
        if (!is_utf8(s->text[i].key) || !is_utf8(s->text[i].value))
            status = diag_error(
                d, ART_ERR_INPUT, place, "not written: metadata %s is not UTF-8",
                diag_quote(quoted, sizeof quoted, s->text[i].key, strlen(s->text[i].key)));
    for (size_t i = 0; i < s->count && !status; i++) {
        const tensor *t = &s->tensor[i];
        size_t bad = first_bad(t);
        diag_quote(quoted, sizeof quoted, t->name, strlen(t->name));
        if (!is_utf8(t->name))
            status = diag_error(d, ART_ERR_INPUT, place,
                                "not written: the name of tensor %s is not UTF-8", quoted);
        else if (bad < t->count)
            status =
                diag_error(d, ART_ERR_NUMERIC, place,
                           "not written: in tensor %s number %zu is NaN or infinite", quoted, bad);
    }
    return status;
}

int safetensors_format(const safetensors *s, void **bytes, size_t *n, const char *file, diag *d)
{
    diag_place place = {file, 0, 0};
    int status = check_writable(s, place, d);
    if (status)
        return status;
    size_t data = 0;
    char *text = header_text(s, &data);
    if (!text)
        return diag_error(d, ART_ERR_NOMEM, place, "not written: out of memory");
    /* Spaces bring the data to a multiple of 8 bytes, as readers that map the file like it. */
    uint64_t length = strlen(text), header = (length + 7) / 8 * 8;
    unsigned char *out = NULL, *to;
    if (header > SAFETENSORS_HEADER)
        status = diag_error(d, ART_ERR_LIMIT, place, "not written: the header is too long");
    else if (!(out = mem_resize(NULL, sizeof header + (size_t)header + data, 1)))
        status = diag_error(d, ART_ERR_NOMEM, place, "not written: out of memory");
    if (status) {
        free(text);
        return status;
    }
    to = out;
    memcpy(to, &header, sizeof header);
    to += sizeof header;
    memset(to, ' ', (size_t)header);
    memcpy(to, text, (size_t)length);
    to += header;
    for (size_t i = 0; i < s->count; i++) {
        const tensor *t = &s->tensor[i];
        size_t width = t->count * DTYPE[t->dtype].width;
        if (width)
            memcpy(to, t->data, width);
        to += width;
    }
    free(text);
    *bytes = out;
    *n = (size_t)(to - out);
    return ART_OK;
}

int safetensors_write(const safetensors *s, const char *path, diag *d)
{
    void *bytes = NULL;
    size_t n = 0;
    output o;
    int status = safetensors_format(s, &bytes, &n, path, d);
    if (status == ART_OK)
        status = output_open(&o, path, d);
    if (status == ART_OK) {
        output_write(&o, bytes, n);
        status = output_close(&o, d);
    }
    free(bytes);
    return status;
}

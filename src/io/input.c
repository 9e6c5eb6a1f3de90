#include "io/input.h"

#include "artreeformer.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { CHUNK = 1 << 16, DEFAULT_RATIO = 500 };

/* Where bytes come from: a file descriptor, or memory when fd is negative. */
typedef struct source {
    int fd;
    const unsigned char *data;
    size_t left;   /* bytes not yet delivered that may still be */
    size_t taken;  /* delivered so far */
    bool measured; /* a regular file, whose size at the start was `size` */
    size_t size;
} source;

typedef struct reader {
    input *in;
    diag *d;
    source from;
    input_limits limits;
    size_t room;          /* bytes allocated for the text, one of them for the NUL */
    unsigned char *chunk; /* [CHUNK] */
} reader;

static int out_of_memory(reader *r)
{
    return diag_error(
        r->d, ART_ERR_NOMEM, input_file(r->in),
        "not enough memory for %zu bytes of text -- free memory or use a smaller file",
        r->in->length);
}

static int read_failed(reader *r)
{
    return diag_error(r->d, ART_ERR_IO, input_file(r->in),
                      "reading failed: %s -- check the file and the device", strerror(errno));
}

/* Fills out with n bytes, or fewer at the end of the data. *got says how many. */
static int source_read(reader *r, void *out, size_t n, size_t *got)
{
    source *s = &r->from;
    *got = 0;
    if (n > s->left)
        n = s->left;
    if (s->fd < 0 && n > 0) {
        memcpy(out, s->data + s->taken, n);
        *got = n;
    }
    while (*got < n) {
        ssize_t k = read(s->fd, (char *)out + *got, n - *got);
        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0)
            return read_failed(r);
        if (k == 0)
            break;
        *got += (size_t)k;
    }
    s->taken += *got;
    s->left -= *got;
    return ART_OK;
}

/* Makes room for at least one more byte of text and the NUL; refuses beyond the limits. */
static int make_room(reader *r)
{
    input *in = r->in;
    if (in->length > r->limits.bytes)
        return diag_error(r->d, ART_ERR_LIMIT, input_file(in),
                          "more than %zu bytes of text -- the limit protects the memory of this "
                          "machine; raise it or use a smaller file",
                          r->limits.bytes);
    if (in->length + 1 < r->room)
        return ART_OK;
    size_t room = r->room > SIZE_MAX / 2 ? SIZE_MAX : 2 * r->room;
    char *grown = mem_resize(in->text, room, 1);
    if (!grown)
        return out_of_memory(r);
    in->text = grown;
    r->room = room;
    return ART_OK;
}

static int read_plain(reader *r, size_t first)
{
    input *in = r->in;
    int status = ART_OK;
    size_t got = first;
    memcpy(in->text, r->chunk, first);
    in->length = first;
    while (got > 0) {
        if ((status = make_room(r)) != ART_OK)
            return status;
        status = source_read(r, in->text + in->length, r->room - 1 - in->length, &got);
        if (status != ART_OK)
            return status;
        in->length += got;
    }
    return ART_OK;
}

/* What zlib says about damaged data, in the words of this program. */
static int gzip_damaged(reader *r, const z_stream *z, bool new_member)
{
    const char *why = z->msg ? z->msg : "unknown error";
    if (new_member && z->total_out == 0 && strstr(why, "header"))
        return diag_error(r->d, ART_ERR_INPUT, input_file(r->in),
                          "the compressed data is followed by bytes that are not gzip -- remove "
                          "them, or copy the file again");
    if (strstr(why, "check"))
        return diag_error(r->d, ART_ERR_INPUT, input_file(r->in),
                          "compressed data is damaged: checksum (CRC) or length is wrong (%s) -- "
                          "copy the file again; gzip -t checks it",
                          why);
    return diag_error(r->d, ART_ERR_INPUT, input_file(r->in),
                      "compressed data is damaged (%s) -- copy the file again; gzip -t checks it",
                      why);
}

static int check_ratio(reader *r, const z_stream *z)
{
    size_t packed = r->from.taken - z->avail_in;
    if (r->in->length < INPUT_RATIO_FROM || r->in->length / r->limits.ratio < packed)
        return ART_OK;
    return diag_error(r->d, ART_ERR_LIMIT, input_file(r->in),
                      "%zu compressed bytes unpack to more than %zu -- this looks like a "
                      "compression bomb; if it is not, unpack the file yourself",
                      packed, r->in->length);
}

/* Unpacks all the members of a gzip file, which begins with the first bytes of the chunk. */
static int inflate_all(reader *r, z_stream *z, size_t first)
{
    input *in = r->in;
    bool inside = true, later_member = false;
    z->next_in = r->chunk;
    z->avail_in = (uInt)first;
    for (;;) {
        if (z->avail_in == 0) {
            size_t got;
            int status = source_read(r, r->chunk, CHUNK, &got);
            if (status != ART_OK)
                return status;
            if (got == 0)
                break;
            z->next_in = r->chunk;
            z->avail_in = (uInt)got;
        }
        if (!inside) {
            inflateReset(z);
            inside = later_member = true;
        }
        int status = make_room(r);
        if (status == ART_OK)
            status = check_ratio(r, z);
        if (status != ART_OK)
            return status;
        size_t free_bytes = r->room - 1 - in->length;
        uInt step = free_bytes > INT_MAX ? INT_MAX : (uInt)free_bytes;
        z->next_out = (Bytef *)in->text + in->length;
        z->avail_out = step;
        int code = inflate(z, Z_NO_FLUSH);
        in->length += step - z->avail_out;
        if (code == Z_STREAM_END)
            inside = false;
        else if (code == Z_MEM_ERROR)
            return out_of_memory(r);
        else if (code != Z_OK && code != Z_BUF_ERROR)
            return gzip_damaged(r, z, later_member);
    }
    if (inside)
        return diag_error(r->d, ART_ERR_INPUT, input_file(in),
                          "compressed data ends early -- the file was truncated; copy it again");
    return ART_OK;
}

static int read_gzip(reader *r, size_t first)
{
    z_stream z = {0};
    if (inflateInit2(&z, MAX_WBITS + 16) != Z_OK) /* + 16: gzip only */
        return out_of_memory(r);
    int status = inflate_all(r, &z, first);
    inflateEnd(&z);
    return status;
}

/* A file that something still writes to would be read in part: refuse it. */
static int check_size(reader *r)
{
    const source *s = &r->from;
    if (!s->measured || s->taken == s->size)
        return ART_OK;
    return diag_error(r->d, ART_ERR_INPUT, input_file(r->in),
                      "the file had %zu bytes when it was opened and %s now -- wait until the "
                      "program that writes it has finished",
                      s->size, s->taken > s->size ? "has more" : "has fewer");
}

/* One '\n' for every CR LF, CR and LF, in place. Returns the new length. */
static size_t join_line_ends(char *text, size_t length)
{
    char *end = text + length;
    char *from = memchr(text, '\r', length);
    if (!from)
        return length;
    char *to = from;
    while (from < end) {
        *to++ = '\n';
        from += from + 1 < end && from[1] == '\n' ? 2 : 1;
        char *next = from < end ? memchr(from, '\r', (size_t)(end - from)) : NULL;
        size_t run = (size_t)((next ? next : end) - from);
        memmove(to, from, run);
        to += run;
        from += run;
    }
    return (size_t)(to - text);
}

static int index_lines(reader *r)
{
    input *in = r->in;
    in->index = mem_zeros(in->length / INPUT_BLOCK + 1, sizeof *in->index);
    if (!in->index)
        return out_of_memory(r);
    size_t block = 1;
    input_line here = {0, 0};
    for (;;) {
        const char *from = in->text + here.start;
        const char *newline = memchr(from, '\n', in->length - here.start);
        size_t next = newline ? (size_t)(newline - in->text) + 1 : SIZE_MAX;
        for (; block <= in->length / INPUT_BLOCK && block * INPUT_BLOCK < next; block++)
            in->index[block] = here;
        if (!newline)
            return ART_OK;
        here = (input_line){here.line + 1, next};
    }
}

/* Blanks for the NUL bytes in [comments] of a NEXUS file; how many there were. */
static size_t blank_comments(char *text, size_t length)
{
    size_t depth = 0, blanked = 0;
    bool quoted = false;
    const size_t start = strspn(text, " \t\r\n");
    if (strncasecmp(text + start, "#NEXUS", 6) != 0)
        return 0;
    for (char *p = text; p < text + length; p++) {
        if (*p == '\'' && depth == 0)
            quoted = !quoted;
        else if (*p == '[' && !quoted)
            depth++;
        else if (*p == ']' && depth > 0)
            depth--;
        else if (*p == '\0' && depth > 0) {
            *p = ' ';
            blanked++;
        }
    }
    return blanked;
}

/* Turns the raw bytes into the text that parsers see. */
static int clean(reader *r)
{
    input *in = r->in;
    unsigned char *raw = (unsigned char *)in->text;
    if (in->length >= 2 &&
        ((raw[0] == 0xFF && raw[1] == 0xFE) || (raw[0] == 0xFE && raw[1] == 0xFF)))
        return diag_error(r->d, ART_ERR_INPUT, (diag_place){in->name, 1, 1},
                          "the text is UTF-16 -- save it as plain text (UTF-8)");
    size_t mark = in->length >= 3 && memcmp(raw, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
    memmove(in->text, in->text + mark, in->length - mark);
    in->length -= mark;
    in->text[in->length] = '\0';
    const char *nul = memchr(in->text, '\0', in->length);
    if (nul && blank_comments(in->text, in->length)) {
        nul = memchr(in->text, '\0', in->length);
        if (!nul)
            diag_note(r->d, input_file(in), "NUL bytes in comments are read as blanks");
    }
    size_t offset = nul ? (size_t)(nul - in->text) : 0;
    in->length = join_line_ends(in->text, nul ? offset : in->length);
    in->text[in->length] = '\0';
    int status = index_lines(r);
    if (status == ART_OK && nul)
        status = diag_error(r->d, ART_ERR_INPUT, input_place(in, in->text + in->length),
                            "NUL byte at offset %zu -- this is not a text file, or it is damaged",
                            offset + mark);
    return status;
}

static input_limits limits_or_default(const input_limits *given)
{
    input_limits l = given ? *given : (input_limits){0, 0};
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    if (l.bytes == 0)
        l.bytes = pages > 0 && page > 0 ? (size_t)pages / 2 * (size_t)page : (size_t)1 << 32;
    if (l.bytes > SIZE_MAX / 4)
        l.bytes = SIZE_MAX / 4;
    if (l.ratio == 0)
        l.ratio = DEFAULT_RATIO;
    return l;
}

static int read_all(reader *r)
{
    input *in = r->in;
    size_t room = CHUNK + 2;
    if (r->from.measured && r->from.size <= r->limits.bytes && r->from.size + 3 > room)
        room = r->from.size + 3; /* the growth byte, the NUL, and one that stays free */
    in->text = mem_zeros(room, 1);
    r->chunk = mem_zeros(CHUNK, 1);
    r->room = room;
    size_t first;
    int status = in->text && r->chunk ? source_read(r, r->chunk, CHUNK, &first) : out_of_memory(r);
    if (status == ART_OK) {
        bool gzip = first >= 2 && r->chunk[0] == 0x1F && r->chunk[1] == 0x8B;
        status = gzip ? read_gzip(r, first) : read_plain(r, first);
    }
    if (status == ART_OK)
        status = check_size(r);
    if (status == ART_OK)
        status = clean(r);
    if (status == ART_OK && r->room > in->length + 1) {
        char *fitted = mem_resize(in->text, in->length + 1, 1);
        if (fitted)
            in->text = fitted;
    }
    free(r->chunk);
    return status;
}

static int start(reader *r, input *in, const char *name, const input_limits *limits, diag *d)
{
    memset(in, 0, sizeof *in);
    *r = (reader){.in = in, .d = d, .limits = limits_or_default(limits)};
    r->from = (source){.fd = -1, .left = SIZE_MAX};
    in->name = mem_text(name, strlen(name));
    return in->name ? ART_OK : out_of_memory(r);
}

static int open_source(reader *r, const char *path)
{
    source *s = &r->from;
    s->fd = strcmp(path, "-") == 0 ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    struct stat about;
    if (s->fd < 0 || fstat(s->fd, &about) != 0)
        return diag_error(r->d, ART_ERR_INPUT, input_file(r->in),
                          "cannot be opened: %s -- check the path and its permissions",
                          strerror(errno));
    if (S_ISDIR(about.st_mode))
        return diag_error(r->d, ART_ERR_INPUT, input_file(r->in),
                          "cannot be read: %s -- give the path of a file", strerror(EISDIR));
    /* The files of /proc say 0 and have content: nothing is known of their size. Standard
     * input may stand anywhere in its file. */
    s->measured = S_ISREG(about.st_mode) && about.st_size > 0 && s->fd != STDIN_FILENO;
    if (s->measured) {
        s->size = (size_t)about.st_size;
        s->left = s->size + 1; /* one byte more shows that the file grows, however fast */
    }
    return ART_OK;
}

int input_read(input *in, const char *path, const input_limits *limits, diag *d)
{
    reader r;
    int status = start(&r, in, strcmp(path, "-") == 0 ? "<stdin>" : path, limits, d);
    if (status == ART_OK)
        status = open_source(&r, path);
    if (status == ART_OK)
        status = read_all(&r);
    if (r.from.fd > STDIN_FILENO)
        close(r.from.fd);
    return status;
}

int input_from_memory(input *in, const char *name, const void *data, size_t size,
                      const input_limits *limits, diag *d)
{
    reader r;
    int status = start(&r, in, name, limits, d);
    r.from.data = data;
    r.from.left = size;
    return status == ART_OK ? read_all(&r) : status;
}

void input_free(input *in)
{
    free(in->name);
    free(in->text);
    free(in->index);
    memset(in, 0, sizeof *in);
}

diag_place input_place(const input *in, const char *at)
{
    size_t offset = (size_t)(at - in->text), newlines = 0;
    input_line here = in->index[offset / INPUT_BLOCK];
    const char *block = in->text + offset / INPUT_BLOCK * INPUT_BLOCK;
    for (const char *p = block; p < at; p++)
        newlines += *p == '\n';
    if (newlines) {
        const char *last = memrchr(block, '\n', (size_t)(at - block));
        here = (input_line){here.line + newlines, (size_t)(last - in->text) + 1};
    }
    return (diag_place){in->name, here.line + 1, offset - here.start + 1};
}

diag_place input_file(const input *in)
{
    return (diag_place){in->name, 0, 0};
}

#include "support/gzip.h"

#include "support/check.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

size_t gzip_pack(unsigned char *out, size_t room, const void *data, size_t size)
{
    z_stream z = {0};
    assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    unsigned char *copy = malloc(size + 1);
    memcpy(copy, data, size);
    z.next_in = copy;
    z.avail_in = (uInt)size;
    z.next_out = out;
    z.avail_out = (uInt)room;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    size_t used = z.total_out;
    deflateEnd(&z);
    free(copy);
    return used;
}

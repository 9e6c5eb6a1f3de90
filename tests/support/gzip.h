/* gzip.h: compressed data for tests. */
#ifndef TESTS_GZIP_H
#define TESTS_GZIP_H

#include <stddef.h>

/* Writes the gzip of data to out, which has room for so many bytes, and returns its size. */
size_t gzip_pack(unsigned char *out, size_t room, const void *data, size_t size);

#endif

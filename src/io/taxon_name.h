/* taxon_name.h: when two names mean the same taxon.
 *
 * In NEXUS and Newick an underscore in a bare word stands for a blank, and programs quote such
 * names or not as they like: Homo_sapiens, 'Homo sapiens' and 'Homo_sapiens' are one taxon, in
 * alignments, in trees and between them. Everything else counts, case too. A name is always shown
 * and written as it was first spelled. */
#ifndef IO_TAXON_NAME_H
#define IO_TAXON_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether the n bytes at a and the m bytes at b are the same name. */
bool taxon_name_same(const char *a, size_t n, const char *b, size_t m);

/* Equal for names that are the same; for hash_index.h. O(n). */
uint64_t taxon_name_hash(const char *name, size_t n);

#endif

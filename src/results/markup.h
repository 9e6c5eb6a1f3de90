/* markup.h: any text inside HTML and SVG. */
#ifndef RESULTS_MARKUP_H
#define RESULTS_MARKUP_H

#include "base/buffer.h"

/* Adds the text such that it stands for itself between tags and in quoted attributes: & < > " '
 * as entities; control characters and bytes that are not UTF-8 as U+FFFD, so that the page
 * is well-formed whatever the text is. */
void markup_text(buffer *out, const char *text);

#endif

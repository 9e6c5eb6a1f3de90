/* markup.h: escaping of arbitrary text in HTML and SVG. */
#ifndef RESULTS_MARKUP_H
#define RESULTS_MARKUP_H

#include "base/buffer.h"

/* Adds the text so that it is shown literally between tags and in quoted attributes: & < > " ' as
 * entities; control characters and bytes that are not UTF-8 as U+FFFD, so that the page is
 * well-formed for any text. */
void markup_text(buffer *out, const char *text);

#endif

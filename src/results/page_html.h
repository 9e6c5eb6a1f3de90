/* page_html.h: the page of a result (page.h) for the browser. It is one file: styles and drawings
 * are inside, there are no scripts, and nothing is fetched. It is also well-formed XML, for any
 * names. */
#ifndef RESULTS_PAGE_HTML_H
#define RESULTS_PAGE_HTML_H

#include "results/page.h"

/* The HTML is added to out. */
int page_html(buffer *out, const page *p);

#endif

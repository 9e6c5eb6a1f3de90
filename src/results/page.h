/* page.h: the result of an inference on one page: whether it has converged, a description of the
 * run, the evidence, the most probable topologies, a drawing of the consensus tree.
 *
 *     <prefix>.report.txt      for the terminal
 *     <prefix>.report.html     the same for the browser (page_html.h), with the splits, and how
 *                              training went; a self-contained file */
#ifndef RESULTS_PAGE_H
#define RESULTS_PAGE_H

#include "base/buffer.h"
#include "base/diag.h"
#include "train/evidence.h"
#include "results/posterior.h"
#include "results/trace.h"
#include "results/verdict.h"

#include <jansson.h>

/* One line of what was done: "substitution model", "JC". Both borrowed. */
typedef struct page_fact {
    const char *name;
    const char *value;
} page_fact;

/* All borrowed; a page owns nothing. */
typedef struct page {
    const page_fact *fact; /* [n_facts] */
    int n_facts;
    const evidence *evidence;
    const verdict *verdict;
    const posterior *posterior; /* finished */
    const trace *bound;         /* during training; may have no points */
    const json_t *rounds;       /* an array of flat objects shown as a table; may be NULL */
} page;

extern const char *const PAGE_SUFFIXES[]; /* the suffixes above, NULL at the end */

/* Writes both files. */
int page_write(const char *prefix, const page *p, diag *d);

/* The text of the first is added to out. */
int page_text(buffer *out, const page *p);

/* The finite values of the evidence, with names and as text, in the order in which they are shown;
 * "not known" where there is a value that is not earned (verdict_shown). Returns their number. */
enum { PAGE_FIGURES = 8, PAGE_FIGURE_SIZE = 64 };
typedef struct page_figure {
    const char *name;
    char value[PAGE_FIGURE_SIZE];
} page_figure;
int page_figures(page_figure figure[PAGE_FIGURES], const evidence *e, const verdict *v);

/* The probabilities whose credible sets are shown, 0 at the end; and the number of most probable
 * topologies shown. */
extern const double PAGE_CREDIBLE[];
enum { PAGE_TOPOLOGIES = 10 };

/* The majority consensus with supports in percent, drawn as text. */
int page_tree(buffer *out, const posterior *p);

#endif

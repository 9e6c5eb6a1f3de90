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
#include "results/model_table.h"
#include "results/posterior.h"
#include "results/trace.h"
#include "results/verdict.h"
#include "tree/rooting.h"

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
    const rooting *rooting;     /* of the trees that are shown; NULL: unrooted */
    const char *methods;        /* a paragraph for a publication; may be NULL */
    const json_t *rounds;       /* an array of flat objects shown as a table; may be NULL */
    const model_table *models;  /* NULL unless models were compared */
} page;

extern const char *const PAGE_SUFFIXES[]; /* the suffixes above, NULL at the end */

/* Writes both files. */
int page_write(const char *prefix, const page *p, diag *d);

/* The text of the first is added to out. */
int page_text(buffer *out, const page *p);

/* The finite values of the evidence, with names and as text, in the order in which they are shown;
 * "not known" where there is a value that is not earned (verdict_shown). Returns their number. */
enum { PAGE_FIGURES = 8, PAGE_FIGURE_SIZE = 96 };
typedef struct page_figure {
    const char *name;
    char value[PAGE_FIGURE_SIZE];
} page_figure;
int page_figures(page_figure figure[PAGE_FIGURES], const evidence *e, const verdict *v);

/* A probability: four decimals, and small ones as 1.2e-09. The text fits in PAGE_FIGURE_SIZE. */
void page_probability(char text[PAGE_FIGURE_SIZE], double p);

/* Whether the most probable topologies are listed: where the trees that were met are next to
 * nothing of the posterior, their probabilities say nothing about it. */
bool page_lists_topologies(const tree_set *trees);
extern const char PAGE_NO_LIST[]; /* what is said otherwise */

/* "12 345 distinct, together 0.31 of the posterior"; the share only if it is not all. */
void page_count(char text[PAGE_FIGURE_SIZE], const tree_set *trees);

/* The number of topologies in a credible set, or that it is not known. */
void page_credible(char text[PAGE_FIGURE_SIZE], const tree_set *trees, double level);

/* "1000 trees, worth 512 independent draws"; "" if there is no such sample (posterior.sample_ess).
 */
void page_sample(char text[PAGE_FIGURE_SIZE], const posterior *p);

/* The probabilities whose credible sets are shown, 0 at the end; and the number of most probable
 * topologies shown. */
extern const double PAGE_CREDIBLE[];
enum { PAGE_TOPOLOGIES = 10 };

/* The majority consensus with supports in percent, drawn as text; r may be NULL. */
int page_tree(buffer *out, const posterior *p, const rooting *r);

#endif

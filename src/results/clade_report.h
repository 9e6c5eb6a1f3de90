/* clade_report.h: a sample of trees summarised by a conditional clade distribution
 * (density/clade/clade_density.h), for `summarize --ccd`.
 *
 *     clade_report *r;
 *     status = clade_report_create(&r, &trees, CLADE_CCD1, 100);
 *     r->entropy, r->map, r->hipstr, ...
 *     status = clade_report_level(&level, r, decision);
 *     probability = clade_report_clade(&frequency, r, bits);
 *     status = clade_report_write(r, &splits, prefix, d);
 *     clade_report_free(r);
 *
 * The files:
 *
 *     <prefix>.ccd.map.nwk     the most probable tree of the distribution, which need not be in the
 *                              sample
 *     <prefix>.hipstr.nwk      HIPSTR: the largest product of clade frequencies, of splits that
 * were seen <prefix>.mrhipstr.nwk    MrHIPSTR: the same, but with every majority clade that can be
 * kept <prefix>.ccd.trprobs     the most probable trees with their probabilities, as in MrBayes
 *     <prefix>.ccd.clades.tsv  clades with their probability and their frequency in the sample
 *     <prefix>.rogues.tsv      taxa with the entropy of the sample's CCD1 without them
 *
 * Trees are taken as unrooted, also those of programs that root them. Branch lengths are means over
 * the trees that have the branch. */
#ifndef RESULTS_CLADE_REPORT_H
#define RESULTS_CLADE_REPORT_H

#include "density/clade/clade_density.h"
#include "tree/tree_set.h"

extern const char *const CLADE_REPORT_SUFFIXES[]; /* the suffixes above, NULL at the end */

typedef struct clade_report {
    const tree_set *trees;
    clade_density *density;
    clade_scratch scratch;
    double *probability; /* [clades] */
    double entropy;      /* of the distribution .. */
    double entropy_ccd1; /* .. and of the CCD1 of the sample, for rogues */
    double log_trees;    /* of the number of trees that have a probability */
    int32_t *map;        /* [N-3] most probable tree, as hipstr and mrhipstr; owned together */
    int32_t *hipstr, *mrhipstr;
    double map_log_p;
    double hipstr_log_credibility, mrhipstr_log_credibility;
    size_t n_best;      /* most probable trees .. */
    int32_t *best;      /* [n_best][N-3] */
    double *best_log_p; /* [n_best] */
    double *without;    /* [N] entropy without a taxon */
} clade_report;

/* trees is normalised, and borrowed. best is how many trees are listed. */
int clade_report_create(clade_report **out, const tree_set *trees, clade_kind kind, size_t best);
void clade_report_free(clade_report *r); /* NULL is fine */

/* The level of the smallest credible set that has the tree: the probability of all trees that are
 * at least as probable. Exact if the tree is among the best; otherwise from draws. */
typedef struct clade_level {
    double log_p; /* -INFINITY if the tree has no probability */
    size_t rank;  /* among the best, from 1; 0 if it is not one of them */
    double level; /* 1 if the tree has no probability */
    double error; /* its standard error; 0 if it is exact */
} clade_level;

int clade_report_level(clade_level *out, clade_report *r, const int32_t *decision);

/* The probability of a clade (either side of its split) as bits, tree/splits.h, and its frequency
 * in the sample; 0 for one that was not seen. */
double clade_report_clade(double *frequency, const clade_report *r, const uint64_t *bits);

/* splits: those of the trees, for branch lengths. */
int clade_report_write(clade_report *r, const split_table *splits, const char *prefix, diag *d);

#endif

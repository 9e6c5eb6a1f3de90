/* api_runs.h: tiny runs of the library, for the tests of runs and of their results. What they test
 * is that nothing of a run is lost or changed on its way, not that it learns. */
#ifndef SUPPORT_API_RUNS_H
#define SUPPORT_API_RUNS_H

#include "artreeformer.h"

#include <stdint.h>

typedef enum api_kind { COLLAPSED, VBPI, FIT, PARSIMONY, KINDS } api_kind;

/* What every test works on, in a scratch folder: set-up and tear-down of cmocka. */
extern art_alignment *api_data;
extern art_trees *api_trees;
extern const char API_DATA[]; /* the text of the alignment's file */
int api_open(void **state);
int api_close(void **state);

/* The settings, and the options of the program that are those of COLLAPSED. */
art_infer_settings api_infer_settings(api_kind k);
#define API_INFER_OPTIONS \
    "--hidden 8 --heads 2 --branch-hidden 8 --fit-steps 60 --seed 1 --threads 1 --quiet"
art_fit_settings api_fit_settings(void);
art_parsimony_settings api_parsimony_settings(void);

/* A run with a seed and so many steps of training or, of COLLAPSED, of fitting; the usual one. */
art_run *api_make(api_kind k, uint64_t seed, int64_t steps, int threads);
art_run *api_usual(api_kind k);

/* Advances a run by so many pieces, at most; returns how many there were. */
int api_advance(art_run *r, int most);

/* Its result; the run is freed. api_finish drives it to its end first. */
art_result *api_result_of(art_run *r);
art_result *api_finish(art_run *r);

/* The same bit for bit, or both NaN. api_same_result takes the model of b and frees b. */
void api_same_bits(double a, double b);
void api_same_evidence(const art_evidence *a, const art_evidence *b);
void api_same_trees(const art_trees *a, const art_trees *b);
void api_same_result(api_kind k, art_result *a, art_result *b);

/* The files program<suffix> and library<suffix> are the same. */
void api_same_file(const char *suffix);

#endif

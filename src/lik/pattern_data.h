/* pattern_data.h: the data in the form that both pruning engines (likelihood.h and partials.h)
 * read: site patterns in blocks of a fixed width, the last one padded with patterns of weight 0.
 * The engines differ in the width and in the order of blocks and taxa, not in what is in a block.
 */
#ifndef LIK_PATTERN_DATA_H
#define LIK_PATTERN_DATA_H

#include "lik/site_patterns.h"
#include "subst/subst_model.h"

/* rows [4][width] for the patterns first .. first + width - 1 of a taxon: 1 for the bases that it
 * may have, else 0; in the padding every base. */
void pattern_data_tip(double *rows, const site_patterns *p, int taxon, size_t first, size_t width);

/* weight [count at least]: how often each pattern occurs; the padding is left as it is. Returns
 * the sum, the number of sites. */
double pattern_data_weights(double *weight, const site_patterns *p);

/* common [count at least]: the set of bases that all taxa may share, pattern by pattern; the
 * padding is left as it is. */
void pattern_data_common(uint8_t *common, const site_patterns *p);

/* The likelihood as an invariant site of a pattern whose taxa may share these bases. */
double pattern_data_invariant_of(uint8_t common, const subst_model *m);

/* invariant [count at least]: the likelihood of each pattern as an invariant site, p_invariant
 * times the frequency of the bases that all taxa may share; the padding is left as it is. */
void pattern_data_invariant(double *invariant, const site_patterns *p, const subst_model *m);

#endif

/* model_string.h: substitution models as text, in the spellings of IQ-TREE and RAxML-NG.
 *
 *     NAME{rates}+F{A,C,G,T}+I{p}+G4{alpha}
 *
 *     JC, JC69, F81           no rates
 *     K80, K2P, HKY, HKY85    {kappa}, or {transversion,transition}
 *     TN93, TN, TrN           {AG,CT}, or {transversion,AG,CT}
 *     TNe, TN93ef             the same with equal base frequencies
 *     SYM, GTR                {AC,AG,AT,CG,CT,GT}; GT may be left out and is then 1
 *     +F{A,C,G,T}, +FU{..}    base frequencies (on any model: JC+F is F81)
 *     +F, +FC                 empirical base frequencies, from the alignment
 *     +FQ, +FE                equal; the default of JC, K80 and SYM. F81, HKY, TN93
 *                             and GTR have no default
 *     +I{p}, +IU{p}           proportion of invariant sites
 *     +G{alpha}, +Gn{alpha}   discrete gamma rates, n = 1..16 categories, 4 by default
 *
 * Numbers are separated by ',' or '/', names are matched without regard to case, and the parts
 * after the name come in any order. Everything else is an error. */
#ifndef SUBST_MODEL_STRING_H
#define SUBST_MODEL_STRING_H

#include "subst/subst_model.h"

enum { MODEL_STRING_SIZE = 512 }; /* large enough for the text of any model */

/* ART_ERR_INPUT with a message that points into the text (as file, line 1, column). The alignment
 * is needed only for empirical frequencies and may otherwise be NULL. */
int model_string_parse(subst_model *m, const char *text, const alignment *a, diag *d);

/* Writes the model with all its parameters, in a canonical spelling, to out[MODEL_STRING_SIZE].
 * Parsing it gives the same model again, bit for bit. Returns out. */
char *model_string_print(char out[MODEL_STRING_SIZE], const subst_model *m);

#endif

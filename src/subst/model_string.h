/* model_string.h: substitution models as text, in the spellings of IQ-TREE and RAxML-NG.
 *
 *     NAME{rates}+F{A,C,G,T}+I{p}+G4{alpha}
 *
 *     JC, JC69, F81           no rates
 *     K80, K2P, HKY, HKY85    {kappa}, or {transversion,transition}
 *     TN93, TN, TrN           {AG,CT}, or {transversion,AG,CT}
 *     TNe, TN93ef             the same with equal base frequencies
 *     SYM, GTR                {AC,AG,AT,CG,CT,GT}; GT may be left out and is then 1
 *     K81, K3P, TPM1          {AC,AG,AT}: AC = GT, AG = CT, AT = CG
 *     TPM2                    {AC,AG,CG}: AC = AT, AG = CT, CG = GT
 *     TPM3                    {AC,AG,AT}: AC = CG, AG = CT, AT = GT
 *     TIM, TIM1               {AC,AG,AT,CT}: AC = GT, AT = CG
 *     TIM2                    {AC,AG,CG,CT}: AC = AT, CG = GT
 *     TIM3                    {AC,AG,AT,CT}: AC = CG, AT = GT
 *     TVM                     {AC,AG,AT,CG,GT}: AG = CT
 *     +F{A,C,G,T}, +FU{..}    base frequencies (on any model: JC+F is F81)
 *     +F, +FC                 empirical base frequencies, from the alignment
 *     +FQ, +FE                equal; the default of JC, K80, SYM, K81, TPM2 and TPM3
 *     +FO                     estimated; the default of the others
 *     +I{p}, +IU{p}           proportion of invariant sites
 *     +G{alpha}, +Gn{alpha}   discrete gamma rates, n = 1..16 categories, 4 by default; also +Gnm,
 *                             which says that rates are the means of the categories; +G1 needs
 *                             its number, because data say nothing about it
 *
 * Two numbers of K80 and HKY are exchange rates as RAxML-NG writes them, of transversions and of
 * transitions: only their ratio counts, HKY{1,2} and HKY{2,4} are HKY{2}. The same holds for three
 * of TN93. The rates of the other models are relative to each other too.
 *
 * The restricted models follow IQ-TREE: K81, TPM2 and TPM3 have equal frequencies and K81u, TPM2u
 * and TPM3u unequal ones, TIM, TIM2, TIM3 and TVM have unequal frequencies and TIMe, TIM2e, TIM3e
 * and TVMe equal ones. The names of RAxML-NG that end in uf and ef are understood too; its TIM1,
 * TIM2 and TIM3 are TIMe, TIM2e and TIM3e here. As in IQ-TREE, the rate of the class that GT is in
 * may be left out and is then 1.
 *
 * A part without its numbers is free: kappa of HKY, rates of GTR, alpha of +G4, p of +I (or +IO),
 * the frequencies of +FO. free_model.h estimates them; model_string_parse takes fixed models only.
 *
 * Numbers are separated by ',' or '/', names are matched without regard to case, and the parts
 * after the name come in any order. Everything else is an error. */
#ifndef SUBST_MODEL_STRING_H
#define SUBST_MODEL_STRING_H

#include "subst/subst_model.h"

enum { MODEL_STRING_SIZE = 512 }; /* large enough for the text of any model */

/* What the text of a model says: numbers, and which of them it leaves free. */
typedef struct model_text {
    subst_model model; /* not finished; where a number is free, rates are 1, frequencies 0.25, alpha
                          and p_invariant 0 */
    int rates_free;
    int frequencies_free;
    int alpha_free;
    int p_invariant_free;
} model_text;

/* The shape of gamma rates lies between these: beyond, it cannot be told from the limit. */
#define ALPHA_MIN 1e-3
#define ALPHA_MAX 1e3

/* ART_ERR_INPUT with a message that points into the text (as file, line 1, column). The alignment
 * is needed only for empirical frequencies and may otherwise be NULL. */
int model_text_parse(model_text *t, const char *text, const alignment *a, diag *d);

/* Writes the text in a canonical spelling, with all numbers that are not free, to
 * out[MODEL_STRING_SIZE]. Parsing it gives the same again, bit for bit. Returns out. */
char *model_text_print(char out[MODEL_STRING_SIZE], const model_text *t);

/* The same for models with all their numbers; the model is finished. What is free is an error. */
int model_string_parse(subst_model *m, const char *text, const alignment *a, diag *d);
char *model_string_print(char out[MODEL_STRING_SIZE], const subst_model *m);

#endif

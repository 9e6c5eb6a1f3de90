#include "jobs/methods.h"

#include "artreeformer.h"
#include "base/number.h"
#include "subst/model_list.h"
#include "subst/prior_string.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

typedef struct reference {
    const char *short_form, *text;
} reference;

static const reference PROGRAM = {
    "Xie et al. 2025",
    "Xie T, Mao Y, Zhang C (2025). ARTreeFormer: a faster attention-based autoregressive model for "
    "phylogenetic inference. PLOS Computational Biology 21(12): e1013768."};
static const reference GAMMA = {
    "Yang 1994",
    "Yang Z (1994). Maximum likelihood phylogenetic estimation from DNA sequences with "
    "variable rates over sites: approximate methods. Journal of Molecular Evolution 39: "
    "306-314."};
static const reference BRIDGE = {
    "Meng and Wong 1996",
    "Meng XL, Wong WH (1996). Simulating ratios of normalizing constants via a "
    "simple identity: a theoretical exploration. Statistica Sinica 6: 831-860."};
static const reference CLADES = {
    "Larget 2013",
    "Larget B (2013). The estimation of tree posterior probabilities using conditional clade "
    "probability distributions. Systematic Biology 62: 501-511."};
static const reference VBPI = {"Zhang and Matsen 2019",
                               "Zhang C, Matsen FA (2019). Variational Bayesian phylogenetic "
                               "inference. International Conference on Learning Representations."};

/* By the name at the beginning of the model string, without regard to case. */
static const struct {
    const char *name;
    reference of;
} MODELS[] = {
    {"JC",
     {"Jukes and Cantor 1969",
      "Jukes TH, Cantor CR (1969). Evolution of protein molecules. In: Munro HN (ed.), "
      "Mammalian Protein Metabolism, pp. 21-132. Academic Press."}},
    {"F81",
     {"Felsenstein 1981",
      "Felsenstein J (1981). Evolutionary trees from DNA sequences: a maximum likelihood "
      "approach. Journal of Molecular Evolution 17: 368-376."}},
    {"K80",
     {"Kimura 1980",
      "Kimura M (1980). A simple method for estimating evolutionary rates of base "
      "substitutions through comparative studies of nucleotide sequences. Journal of "
      "Molecular Evolution 16: 111-120."}},
    {"HKY",
     {"Hasegawa et al. 1985",
      "Hasegawa M, Kishino H, Yano T (1985). Dating of the human-ape splitting by a molecular "
      "clock of mitochondrial DNA. Journal of Molecular Evolution 22: 160-174."}},
    {"TN",
     {"Tamura and Nei 1993",
      "Tamura K, Nei M (1993). Estimation of the number of nucleotide substitutions in the "
      "control region of mitochondrial DNA in humans and chimpanzees. Molecular Biology and "
      "Evolution 10: 512-526."}},
    {"GTR",
     {"Tavaré 1986",
      "Tavaré S (1986). Some probabilistic and statistical problems in the analysis of DNA "
      "sequences. Lectures on Mathematics in the Life Sciences 17: 57-86."}},
};

enum { MOST_CITED = 8 };

typedef struct citations {
    const reference *cited[MOST_CITED];
    int count;
} citations;

static void cite(buffer *out, citations *c, const reference *r)
{
    buffer_printf(out, " (%s)", r->short_form);
    if (c->count < MOST_CITED)
        c->cited[c->count++] = r;
}

/* The model string, with four digits of numbers that have many: frequencies that were counted. */
static void write_model_string(buffer *out, const char *model)
{
    enum { MOST_BYTES = 6 }; /* of a number that stays as it is, such as 0.3125 */
    while (*model) {
        const size_t other = strcspn(model, "{,/");
        buffer_printf(out, "%.*s", (int)other, model);
        model += other;
        if (*model == '\0')
            return;
        buffer_char(out, *model++);
        const size_t n = strspn(model, "0123456789.eE+-");
        double value;
        if (n > MOST_BYTES && number_double(&value, model, n) == ART_OK)
            buffer_double(out, value, 4);
        else
            buffer_printf(out, "%.*s", (int)n, model);
        model += n;
    }
}

static void write_model(buffer *out, citations *c, const char *model)
{
    buffer_text(out, "under the substitution model ");
    write_model_string(out, model);
    for (size_t i = 0; i < sizeof MODELS / sizeof MODELS[0]; i++)
        if (strncasecmp(model, MODELS[i].name, strlen(MODELS[i].name)) == 0) {
            cite(out, c, &MODELS[i].of);
            break;
        }
    if (strstr(model, "+G")) {
        buffer_text(out, " with discrete gamma rates among sites");
        cite(out, c, &GAMMA);
    }
}

static bool is_average(const methods_facts *f)
{
    return f->models && f->models->count > 1;
}

/* An average over models, all of which have the same prior probability. */
static void write_models(buffer *out, const model_table *t)
{
    buffer_printf(out,
                  "as an average over %d substitution models of equal prior probability, each "
                  "weighted by its marginal likelihood (the most probable was %s, with a posterior "
                  "probability of ",
                  t->count, t->row[0].name);
    buffer_fixed(out, t->row[0].probability, 2);
    buffer_char(out, ')');
}

/* The priors of estimated parameters, as a sentence. */
static void write_priors(buffer *out, const free_model *m, int n)
{
    char text[PRIOR_TEXT_SIZE];
    int i = 0;
    for (; model_list_prior_text(text, sizeof text, m, n, i); i++)
        buffer_printf(out, "%s%s",
                      i ? ", "
                        : " Parameters of the substitution model were estimated together with the "
                          "tree, with the priors ",
                      text);
    if (i)
        buffer_char(out, '.');
}

static void write_way(buffer *out, citations *c, methods_way way)
{
    switch (way) {
    case METHODS_TABLE:
        buffer_text(out,
                    " Branch lengths were integrated out. Topologies were found by hill climbing "
                    "from parsimony trees and from draws of an autoregressive network that was "
                    "fitted to the posterior probabilities of those found; final figures are by "
                    "importance sampling.");
        break;
    case METHODS_CHAINS:
        buffer_text(out, " Branch lengths were integrated out. Topologies were sampled by Markov "
                         "chains, to which a density of conditional clades");
        cite(out, c, &CLADES);
        buffer_text(out, " was fitted; the two were put together by bridge sampling");
        cite(out, c, &BRIDGE);
        buffer_char(out, '.');
        break;
    case METHODS_JOINT:
        buffer_text(out, " Topologies and branch lengths were sampled together by Markov chains: "
                         "neighbour interchanges and lengths nearly from their conditional "
                         "distributions, and moves of subtrees to places chosen by their "
                         "likelihood.");
        break;
    case METHODS_VBPI:
        buffer_text(out, " Topologies and branch lengths were learned by variational inference");
        cite(out, c, &VBPI);
        buffer_text(out, "; final figures are by importance sampling.");
        break;
    }
}

/* Two digits of the error, and as many decimals of the estimate; two if it is not known. */
static int decimals_of(double error)
{
    return error > 0 && isfinite(error) ? (int)fmin(fmax(1 - floor(log10(error)), 2), 6) : 2;
}

/* Of an average also what it is the evidence of. */
static void write_evidence(buffer *out, const methods_facts *f)
{
    const verdict *v = &f->evaluation->verdict;
    const evidence shown = verdict_shown(v, &f->evaluation->evidence);
    const int decimals = decimals_of(shown.log_evidence_se);
    if (!isfinite(shown.log_evidence))
        return;
    buffer_text(out, " The log marginal likelihood was estimated as ");
    buffer_fixed(out, shown.log_evidence, decimals);
    if (isfinite(shown.log_evidence_se)) {
        buffer_text(out, " (standard error ");
        buffer_fixed(out, shown.log_evidence_se, decimals);
        buffer_char(out, ')');
    }
    if (!verdict_shows_errors(v))
        buffer_text(out, ", with an error that is not known");
    if (is_average(f))
        buffer_printf(out,
                      ", that of the mixture in which every model has the prior probability "
                      "1/%d",
                      f->models->count);
    buffer_char(out, '.');
}

static void write_results(buffer *out, const methods_facts *f)
{
    const evaluation *e = f->evaluation;
    write_evidence(out, f);
    if (e->verdict.is_given)
        buffer_text(out, e->verdict.converged
                             ? " The program judged the run to have converged."
                             : " THE PROGRAM JUDGED THE RUN NOT TO HAVE CONVERGED.");
    buffer_text(out, " Trees are summarized by the majority-rule consensus, ");
    rooting_describe(out, f->rooting, &e->posterior.trees.taxa, &e->posterior.splits);
    buffer_text(out, ", with posterior probabilities of splits and mean branch lengths.");
}

void methods_write(buffer *out, const methods_facts *f)
{
    citations c = {0};
    buffer_printf(out,
                  "The posterior distribution of trees was inferred from an alignment of %d taxa "
                  "and %zu sites with ARTreeFormer %s",
                  f->alignment->n_taxa, f->alignment->n_sites, art_version());
    cite(out, &c, &PROGRAM);
    buffer_char(out, ' ');
    if (is_average(f))
        write_models(out, f->models);
    else
        write_model(out, &c, f->model);
    buffer_printf(
        out, ", with a uniform prior on unrooted topologies and the prior %s on branch lengths.",
        f->prior);
    write_priors(out, f->free, f->n_models);
    write_way(out, &c, f->way);
    write_results(out, f);
    buffer_printf(out, " The seed was %llu.\n\n", (unsigned long long)f->seed);
    for (int i = 0; i < c.count; i++)
        buffer_printf(out, "%s\n", c.cited[i]->text);
}

#include "support/problem.h"

#include "base/mem.h"
#include "subst/model_string.h"
#include "support/check.h"
#include "tree/topology.h"

#include <stdlib.h>

const char *const ALL_MODELS[N_ALL_MODELS] = {
    "JC",
    "K80{2.5}",
    "F81+F{0.1,0.2,0.3,0.4}",
    "HKY{2.5}+F{0.3,0.15,0.2,0.35}",
    "TN93{2,5}+F{0.3,0.15,0.2,0.35}",
    "SYM{1.2,3.1,0.8,0.9,4.2,1}",
    "GTR{1.2,3.1,0.8,0.9,4.2,1}+F{0.3,0.15,0.2,0.35}",
    "JC+I{0.3}",
    "JC+G4{0.4}",
    "JC+I{0.2}+G3{0.7}",
    "HKY{2.5}+F{0.3,0.15,0.2,0.35}+I{0.1}",
    "GTR{1.2,3.1,0.8,0.9,4.2,1}+F{0.3,0.15,0.2,0.35}+G16{0.4}",
    "GTR{1.2,3.1,0.8,0.9,4.2,1}+F{0.3,0.15,0.2,0.35}+I{0.2}+G4{0.7}",
};

static uint8_t random_state(rng *r, uint8_t prevailing)
{
    double u = rng_uniform(r);
    return (uint8_t)(u < 0.04   ? STATE_GAP
                     : u < 0.06 ? STATE_ANY
                     : u < 0.10 ? 1 + rng_below(r, STATE_ANY)
                     : u < 0.35 ? 1u << rng_below(r, 4)
                                : prevailing);
}

problem problem_random(int n_taxa, size_t n_patterns, int n_trees, uint32_t seed)
{
    rng r = rng_at(seed, RNG_TEST, (uint32_t)n_taxa, (uint32_t)n_patterns);
    size_t taxa = (size_t)n_taxa, trees = (size_t)n_trees;
    problem p = {.n_trees = n_trees, .n_edges = topology_edges(n_taxa)};
    alignment *a = &p.alignment;
    a->n_taxa = n_taxa;
    a->n_patterns = a->n_sites = n_patterns;
    a->state = mem_zeros(taxa * n_patterns, sizeof *a->state);
    a->weight = mem_zeros(n_patterns, sizeof *a->weight);
    p.decision = mem_zeros(trees * (taxa - 3), sizeof *p.decision);
    p.length = mem_zeros(trees * (size_t)p.n_edges, sizeof *p.length);
    assert_true(a->state && a->weight && p.decision && p.length);
    for (size_t k = 0; k < n_patterns; k++) {
        uint8_t prevailing = (uint8_t)(1u << rng_below(&r, 4));
        a->weight[k] = 1 + rng_below(&r, 3);
        for (size_t i = 0; i < taxa; i++)
            a->state[i * n_patterns + k] = random_state(&r, prevailing);
    }
    for (size_t t = 0; t < trees; t++)
        for (int i = 0; i < n_taxa - 3; i++)
            p.decision[t * (taxa - 3) + (size_t)i] = (int32_t)rng_below(&r, (uint32_t)(2 * i + 3));
    for (size_t i = 0; i < trees * (size_t)p.n_edges; i++)
        p.length[i] = 0.1 * rng_exponential(&r);
    return p;
}

void problem_free(problem *p)
{
    free(p->alignment.state);
    free(p->alignment.weight);
    free(p->decision);
    free(p->length);
    *p = (problem){0};
}

/* Every taxon beside the one before it. */
void caterpillar(int32_t *decision, int n_taxa)
{
    for (int i = 3; i < n_taxa; i++)
        decision[i - 3] = node_edge(i - 1, n_taxa);
}

/* Taxon n beside taxon n - 2^k, the largest power that leaves a taxon other than 0: every
 * round splits every leaf. */
void balanced(int32_t *decision, int n_taxa)
{
    for (int i = 3; i < n_taxa; i++) {
        int power = 1;
        while (2 * power < i)
            power *= 2;
        decision[i - 3] = node_edge(i - power, n_taxa);
    }
}

subst_model model_of(const char *text, const alignment *a)
{
    subst_model m;
    diag d;
    diag_init(&d);
    int status = model_string_parse(&m, text, a, &d);
    if (status)
        print_error("%s\n", d.count ? d.message[0].text : text);
    diag_free(&d);
    check_status(status);
    return m;
}

free_model free_model_of(const char *text)
{
    free_model f;
    diag d = {0};
    check_status(free_model_parse(&f, text, NULL, NULL, &d));
    return f;
}

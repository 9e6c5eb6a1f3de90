#include "collapsed/tree_proposal.h"

#include "artreeformer.h"
#include "base/mem.h"

#include <stdatomic.h>
#include <stdlib.h>

typedef struct place {
    atomic_flag is_taken;
    clade_scratch scratch;
} place;

struct tree_proposal {
    clade_density *density;
    place *place; /* [n_places] */
    int n_places;
};

int tree_proposal_create(tree_proposal **out, int32_t n_taxa, const int32_t *decision, size_t count,
                         int callers)
{
    *out = NULL;
    const size_t n_decisions = (size_t)n_taxa - 3;
    const clade_smoothing smoothing = clade_smoothing_estimated();
    tree_proposal *p = mem_zeros(1, sizeof *p);
    if (!p)
        return ART_ERR_NOMEM;
    int status = clade_density_create(&p->density, n_taxa, CLADE_CCD2);
    for (size_t i = 0; i < count && !status; i++)
        status = clade_density_add(p->density, decision + i * n_decisions, 1);
    if (!status)
        status = clade_density_fit(p->density, &smoothing);
    if (!status && !(p->place = mem_zeros((size_t)callers, sizeof *p->place)))
        status = ART_ERR_NOMEM;
    for (; p->n_places < callers && !status; p->n_places++) {
        atomic_flag_clear(&p->place[p->n_places].is_taken);
        status = clade_scratch_init(&p->place[p->n_places].scratch, p->density);
    }
    if (status)
        tree_proposal_free(p);
    else
        *out = p;
    return status;
}

void tree_proposal_free(tree_proposal *p)
{
    if (!p)
        return;
    for (int i = 0; i < p->n_places; i++)
        clade_scratch_free(&p->place[i].scratch);
    free(p->place);
    clade_density_free(p->density);
    free(p);
}

const clade_density *tree_proposal_density(const tree_proposal *p)
{
    return p->density;
}

/* There are as many places as callers, so that one is free. */
static place *take(tree_proposal *p)
{
    for (int i = 0;; i = (i + 1) % p->n_places)
        if (!atomic_flag_test_and_set_explicit(&p->place[i].is_taken, memory_order_acquire))
            return &p->place[i];
}

static void give_back(place *at)
{
    atomic_flag_clear_explicit(&at->is_taken, memory_order_release);
}

double tree_proposal_sample(tree_proposal *p, int32_t *decision, rng *r)
{
    place *at = take(p);
    const double log_q = clade_density_sample(decision, p->density, r, &at->scratch);
    give_back(at);
    return log_q;
}

double tree_proposal_log_q(tree_proposal *p, const int32_t *decision)
{
    place *at = take(p);
    const double log_q = clade_density_log_q(p->density, decision, &at->scratch);
    give_back(at);
    return log_q;
}

bool tree_proposal_redraw(tree_proposal *p, topology *t, int32_t v, double *log_ratio, rng *r)
{
    place *at = take(p);
    const bool is_another = clade_density_redraw(t, v, log_ratio, p->density, r, &at->scratch);
    give_back(at);
    return is_another;
}

#include "collapsed/other_modes.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "collapsed/affordable.h"

#include <math.h>
#include <stdlib.h>

enum { STARTS = 2 }; /* of a tree: equal lengths, random ones */

/* What the modes that fits from other starts have found hold of a tree, over what the known one
 * holds: exp of the differences of g, each mode once. */
static double odds(const evidence_job *job, double laplace, double least)
{
    double gap[STARTS], sum = 0;
    for (int k = 0; k < STARTS; k++) {
        gap[k] = job[k].status ? -HUGE_VAL : job[k].laplace - laplace;
        bool is_new = fabs(gap[k]) >= least;
        for (int before = 0; before < k; before++)
            is_new = is_new && fabs(gap[k] - gap[before]) >= least;
        sum += is_new ? exp(gap[k]) : 0;
    }
    return sum;
}

static void fill_starts(evidence_job *job, double *length, const mode_starts *start, size_t number)
{
    rng stream = rng_at(start->seed, RNG_MODES, 0, (uint32_t)number);
    for (size_t e = 0; e < start->n_edges; e++) {
        length[e] = start->typical;
        length[start->n_edges + e] = start->typical * rng_exponential(&stream);
    }
    for (int k = 0; k < STARTS; k++)
        job[k].length = length + (size_t)k * start->n_edges;
}

int other_modes_look(other_modes *m, evidence_batch *team, const known_mode *tree, size_t count,
                     const mode_starts *start, const interrupt *stop)
{
    evidence_job *job = mem_zeros(STARTS * count + 1, sizeof *job);
    double *length = mem_zeros(STARTS * count * start->n_edges + 1, sizeof *length);
    const int status = job && length ? ART_OK : ART_ERR_NOMEM;
    int done = 0;
    for (size_t i = 0; i < count && !status; i++) {
        for (int k = 0; k < STARTS; k++)
            job[STARTS * i + (size_t)k] = (evidence_job){.decision = tree[i].decision,
                                                         .tolerance = start->set.tolerance,
                                                         .shape = EVIDENCE_DIAGONAL};
        fill_starts(job + STARTS * i, length + STARTS * i * start->n_edges, start, m->looked + i);
    }
    if (!status)
        done = evidence_batch_run(team, job, (int)(STARTS * count), stop) / STARTS;
    for (int i = 0; i < done; i++) {
        const double others = odds(job + STARTS * i, tree[i].laplace, start->set.gap);
        m->left_out += isinf(others) ? 1 : others / (1 + others);
    }
    m->looked += (size_t)done;
    free(job);
    free(length);
    return status;
}

size_t other_modes_trees(const collapsed_settings *set, int n_taxa)
{
    const affordable_settings limit = {set->affordable.taxa, (size_t)set->modes.least_trees};
    return affordable_trees(&limit, (size_t)set->modes.trees, n_taxa, 2);
}

double other_modes_share(const other_modes *m)
{
    return m->looked ? m->left_out / (double)m->looked : 0;
}

void other_modes_fields(other_modes *m, size_t most, saved_state *s)
{
    int64_t looked = (int64_t)m->looked;
    const size_t before = state_group(s, "modes");
    state_i64_in(s, "looked", &looked, 0, (int64_t)most);
    state_f64(s, "left_out", &m->left_out);
    state_group_end(s, before);
    m->looked = (size_t)looked;
}

double mean_length(const double *length, size_t n)
{
    double sum = 0;
    for (size_t e = 0; e < n; e++)
        sum += length[e];
    return sum / (double)n;
}

#include "train/divergence.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "tree/tree_set.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double FAR = -50;

/* log q becomes that of the mixture, for k trees. */
static void mix(double *log_q, const tree_set *listed, double share, const int32_t *decision, int k)
{
    const size_t n = (size_t)listed->taxa.count - 3;
    for (int i = 0; i < k; i++) {
        const int64_t at = tree_set_find(listed, decision + (size_t)i * n);
        const double p = at < 0 ? 0 : listed->weight[at];
        if (p > 0)
            log_q[i] = log((1 - share) * p + share * exp(log_q[i]));
        else
            log_q[i] += log(share);
    }
}

int divergence_of_mixture(divergence *out, topology_model *m, const tree_set *listed, double share,
                          const int32_t *decision, const double *weight, size_t count, int batch)
{
    memset(out, 0, sizeof *out);
    double *log_q = mem_zeros((size_t)batch, sizeof *log_q);
    if (!log_q)
        return ART_ERR_NOMEM;
    size_t n = (size_t)m->n_taxa - 3;
    double total = 0, covered = 0, distance = 0;
    int status = ART_OK;
    for (size_t i = 0; i < count; i++)
        total += weight[i];
    for (size_t first = 0; first < count && !status; first += (size_t)batch) {
        size_t left = count - first;
        int k = left < (size_t)batch ? (int)left : batch;
        status = topology_model_score(m, log_q, decision + first * n, k);
        if (!status && listed)
            mix(log_q, listed, share, decision + first * n, k);
        for (int i = 0; i < k && !status; i++) {
            double p = weight[first + (size_t)i] / total, q = exp(log_q[i]);
            covered += q;
            distance += fabs(p - q);
            if (p > 0) {
                out->kl += p * (log(p) - log_q[i]);
                out->cross_entropy -= p * log_q[i];
                out->kl_clipped += p * (log(p + DIVERGENCE_LEAST) - log(fmax(q, DIVERGENCE_LEAST)));
                out->far_mass += log_q[i] < FAR ? p : 0;
                out->zero_mass += isinf(log_q[i]) ? p : 0;
                out->zero_trees += isinf(log_q[i]) != 0;
                out->clipped_mass += !isinf(log_q[i]) && q < DIVERGENCE_LEAST ? p : 0;
            }
        }
    }
    out->total_variation = (distance + fmax(0, 1 - covered)) / 2;
    free(log_q);
    return status;
}

int divergence_compute(divergence *out, topology_model *m, const int32_t *decision,
                       const double *weight, size_t count, int batch)
{
    return divergence_of_mixture(out, m, NULL, 1, decision, weight, count, batch);
}

#include "density/lognormal/branch_ref.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "density/lognormal/branch_net.h"
#include "density/artreeformer/embedding.h"
#include "nn/layers_ref.h"

#include <math.h>
#include <stdlib.h>

/* One convolution: h [rows][hidden] of f [rows][in]; the weights are the four tensors from
 * `first`. scratch [2 in + hidden]. */
static void conv(double *h, const double *f, const params *p, int first, const embedding_plan *plan,
                 int rows, int in, int hidden, double *scratch)
{
    double *both = scratch, *y = scratch + 2 * in;
    for (int u = 0; u < rows; u++, h += hidden) {
        const double *fu = f + (ptrdiff_t)u * in;
        for (int j = 0; j < hidden; j++)
            h[j] = -HUGE_VAL;
        for (int v = 0; v < rows; v++) {
            if (plan->parent[u] != v && plan->parent[v] != u)
                continue;
            const double *fv = f + (ptrdiff_t)v * in;
            for (int j = 0; j < in; j++) {
                both[j] = fu[j];
                both[in + j] = fv[j] - fu[j];
            }
            linear_ref(y, both, branch_value(p, first), branch_value(p, first + 1), 2 * in, hidden);
            if (branch_value(p, first + 2))
                norm_ref(y, branch_value(p, first + 2), branch_value(p, first + 3), hidden);
            elu_ref(y, hidden);
            for (int j = 0; j < hidden; j++)
                h[j] = fmax(h[j], y[j]);
        }
        elu_ref(h, hidden);
    }
}

/* Two numbers per edge from h [rows][hidden], which is used up. scratch [2 hidden]. */
static void head(double *mean, double *log_std, double *h, const params *p,
                 const embedding_plan *plan, int rows, int hidden, double *scratch)
{
    double *a = scratch, *b = scratch + hidden, out[2];
    for (int u = 0; u < rows; u++) {
        double *hu = h + (ptrdiff_t)u * hidden;
        linear_ref(a, hu, branch_value(p, BRANCH_NODE0_WEIGHT), branch_value(p, BRANCH_NODE0_BIAS),
                   hidden, hidden);
        elu_ref(a, hidden);
        linear_ref(hu, a, branch_value(p, BRANCH_NODE1_WEIGHT), branch_value(p, BRANCH_NODE1_BIAS),
                   hidden, hidden);
        elu_ref(hu, hidden);
    }
    for (int e = 0; e < rows - 1; e++) {
        const double *x = h + (ptrdiff_t)(e + 1) * hidden;
        const double *y = h + (ptrdiff_t)plan->parent[e + 1] * hidden;
        for (int j = 0; j < hidden; j++)
            a[j] = fmax(x[j], y[j]);
        linear_ref(b, a, branch_value(p, BRANCH_EDGE0_WEIGHT), branch_value(p, BRANCH_EDGE0_BIAS),
                   hidden, hidden);
        elu_ref(b, hidden);
        linear_ref(out, b, branch_value(p, BRANCH_EDGE1_WEIGHT), branch_value(p, BRANCH_EDGE1_BIAS),
                   hidden, 2);
        mean[e] = out[0];
        log_std[e] = out[1];
    }
}

int branch_plain_moments(double *mean, double *log_std, const params *p, int n_taxa, int hidden,
                         const int32_t *decision)
{
    const size_t rows = (size_t)topology_nodes(n_taxa), n = (size_t)n_taxa, h = (size_t)hidden;
    topology tree = {0};
    embedding_plan plan = {0};
    double *f = mem_zeros(rows * n, sizeof *f), *h1 = mem_zeros(rows * h, sizeof *h1);
    double *h2 = mem_zeros(rows * h, sizeof *h2);
    double *scratch = mem_zeros(2 * n + 3 * h + embedding_work(n_taxa), sizeof *scratch);
    int status = f && h1 && h2 && scratch ? ART_OK : ART_ERR_NOMEM;
    if (status == ART_OK)
        status = topology_init(&tree, n_taxa);
    if (status == ART_OK)
        status = embedding_plan_init(&plan, n_taxa);
    if (status)
        goto out;
    topology_build(&tree, decision);
    embedding_plan_set(&plan, &tree);
    embedding_matrix(f, &plan, EMBEDDING_TWO_PASS, 0, scratch);
    conv(h1, f, p, BRANCH_CONV0_WEIGHT, &plan, (int)rows, n_taxa, hidden, scratch);
    conv(h2, h1, p, BRANCH_CONV1_WEIGHT, &plan, (int)rows, hidden, hidden, scratch);
    head(mean, log_std, h2, p, &plan, (int)rows, hidden, scratch);
out:
    embedding_plan_free(&plan);
    topology_free(&tree);
    free(scratch);
    free(h2);
    free(h1);
    free(f);
    return status;
}

#include "train/task.h"

#include "artreeformer.h"

#include <math.h>

int task_agree(const char *what, double fast, double plain, double tolerance, diag *d)
{
    if (fast == plain || fabs(fast - plain) <= tolerance)
        return ART_OK;
    return diag_error(d, ART_ERR_NUMERIC, (diag_place){0},
                      "self-check: %s is %.17g, but the reference kernels give %.17g -- please "
                      "report this; the machine may be faulty",
                      what, fast, plain);
}

static int verify_topology(topology_model *trees, const int32_t *decision, diag *d)
{
    double fast, plain;
    int status = topology_model_score(trees, &fast, decision, 1);
    if (!status)
        status = topology_model_reference(trees, &plain, decision);
    if (status)
        return status;
    /* float rounding through some dozens of steps; a fault of code or machine is far larger */
    return task_agree("log q of a tree", fast, plain, 2e-3 + 1e-4 * fabs(plain), d);
}

static int verify_lengths(branch_model *branches, const int32_t *decision, const double *length,
                          diag *d)
{
    double fast, plain;
    int status = branch_model_score(branches, &fast, length, decision, 1);
    if (!status)
        status = branch_model_reference(branches, &plain, length, decision);
    if (status)
        return status;
    /* Float rounding of the moments, some 1e-7 an edge, counts in units of the deviation of a log
     * length: a few tenths in genes, far less where sequences are very long. */
    double tolerance = 1e-3 * (2 * branches->n_taxa - 3) + 1e-4 * fabs(plain);
    return task_agree("log q of branch lengths", fast, plain, tolerance, d);
}

int task_verify_tree(const task *t, const int32_t *decision, const double *length, diag *d)
{
    int status = t->trees ? verify_topology(t->trees, decision, d) : ART_OK;
    if (!status && t->branches)
        status = verify_lengths(t->branches, decision, length, d);
    return status;
}

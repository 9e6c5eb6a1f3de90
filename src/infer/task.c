#include "infer/task.h"

#include "artreeformer.h"

#include <math.h>
#include <string.h>

static int compare(double fast, double plain, const char *what, diag *d)
{
    /* float rounding through some dozens of steps; a fault of code or machine is far larger */
    if (fabs(fast - plain) <= 2e-3 + 1e-4 * fabs(plain))
        return ART_OK;
    return diag_error(d, ART_ERR_NUMERIC, (diag_place){0},
                      "self-check: log q of %s is %.9g, but %.9g by the plain double kernels -- "
                      "please report this; the machine may be faulty",
                      what, fast, plain);
}

int task_verify_tree(topology_model *trees, const int32_t *decision, diag *d)
{
    double fast, plain;
    int status = trees->ops->score(trees, &fast, decision, 1);
    if (!status)
        status = trees->ops->plain(trees, &plain, decision);
    return status ? status : compare(fast, plain, "a tree", d);
}

int task_verify_lengths(branch_model *branches, const double *length, const int32_t *decision,
                        diag *d)
{
    double fast, plain;
    int status = branches->ops->score(branches, &fast, length, decision, 1);
    if (!status)
        status = branches->ops->plain(branches, &plain, length, decision);
    return status ? status : compare(fast, plain, "branch lengths", d);
}

int task_distinct(const int32_t *decision, int k, int n)
{
    int distinct = 0;
    size_t bytes = (size_t)n * sizeof *decision;
    for (int i = 0; i < k; i++) {
        int j = 0;
        while (j < i && memcmp(decision + (size_t)i * (size_t)n, decision + (size_t)j * (size_t)n,
                               bytes) != 0)
            j++;
        distinct += j == i;
    }
    return distinct;
}

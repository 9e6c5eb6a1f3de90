/* task.h: what the training loop drives. A task supplies, for each step, the gradient of its
 * loss over the parameters of its models; the loop (trainer.h) does everything else. */
#ifndef TRAIN_TASK_H
#define TRAIN_TASK_H

#include "base/diag.h"
#include "io/saved_state.h"
#include "density/branch_model.h"
#include "density/topology_model.h"

#include <stdint.h>

typedef struct task task;

typedef struct task_step {
    double loss;  /* the loss to minimise: the negative bound, or the negative mean log q */
    double best;  /* best value of the target in this step; NaN if there is no target */
    int distinct; /* number of distinct trees in the step */
    int trees;    /* trees of the step */
} task_step;

typedef struct task_ops {
    /* Adds the gradient of the step's loss to the gradients of the models' parameters, which
     * are zero on entry. anneal is the weight of the data, in (0, 1]. */
    int (*step)(task *t, task_step *out, uint32_t step, double anneal);

    /* Evaluates a tree of the last step again with the reference kernels in double. A difference
     * beyond rounding is reported in the diag and returns ART_ERR_NUMERIC. */
    int (*verify)(task *t, diag *d);

    /* The state of the task other than the parameters, as fields of a saved state; NULL if there is
     * none. */
    int (*fields)(task *t, saved_state *s);

    void (*free)(task *t);
} task_ops;

struct task {
    const task_ops *ops;
    topology_model *trees; /* borrowed, as is branches; NULL if the task does not train it */
    branch_model *branches;
};

/* For verify: two evaluations of what is named agree within the tolerance, or are the same
 * infinity. Otherwise it is reported in the diag: ART_ERR_NUMERIC. */
int task_agree(const char *what, double fast, double plain, double tolerance, diag *d);

/* For verify: log q of one tree [N-3] and of its branch lengths [2N-3], for the models that the
 * task has, comparing the fast code with the definition. */
int task_verify_tree(const task *t, const int32_t *decision, const double *length, diag *d);

#endif

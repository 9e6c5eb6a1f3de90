/* The topology model in double: golden numbers, exact sums, finite differences. */
#include "support/check.h"
#include "support/golden.h"

#include "base/mem.h"
#include "base/rng.h"
#include "model/artreeformer_model.h"
#include "model/network.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static topology_model *golden_model(golden *g)
{
    topology_model *m;
    check_status(artreeformer_create(&m, g->n_taxa, g->hidden, g->heads, NULL));
    check_status(params_load(m->params.value, &m->params, &g->weights, "", "golden", NULL));
    m->ops->changed(m);
    return m;
}

static const char *const golden_names[] = {"tiny_n5", "small_n8", "ds1_d100"};

static void golden_log_q(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        golden g;
        golden_load(&g, golden_names[i]);
        topology_model *m = golden_model(&g);
        double *log_q = mem_zeros((size_t)g.count, sizeof *log_q), plain;
        check_status(m->ops->score(m, log_q, g.decision, g.count));
        for (int j = 0; j < g.count; j++)
            check_near(log_q[j], g.log_q[j], 1e-9);
        for (int j = 0; j < g.count; j += i == 2 ? 10 : 1) { /* the plain way takes its time */
            check_status(m->ops->plain(m, &plain, g.decision + j * (g.n_taxa - 3)));
            check_near(plain, g.log_q[j], 1e-9);
        }
        free(log_q);
        m->ops->free(m);
        golden_free(&g);
    }
}

/* Every step of the first tree: the chosen edge, and the log-probabilities of all edges, found
 * as differences of log q between trees that part at this step and choose alike before. */
static void golden_steps(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        golden g;
        golden_load(&g, golden_names[i]);
        topology_model *m = golden_model(&g);
        topology t;
        const int n_taxa = g.n_taxa, total = (n_taxa - 3) * (n_taxa - 1);
        double *step = mem_zeros((size_t)total, sizeof *step), *at = step, log_q;
        check_status(
            network_plain(&log_q, step, &m->params, n_taxa, g.hidden, g.heads, g.decision));
        json_t *steps = json_object_get(g.json, "steps_of_first_tree");
        assert_int_equal(json_array_size(steps), n_taxa - 3);
        for (int n = 3; n < n_taxa; n++, at += topology_edges(n - 1)) {
            json_t *of = json_array_get(steps, (size_t)n - 3),
                   *edges = json_object_get(of, "edges");
            check_status(topology_init(&t, n)); /* the partial tree as a whole one */
            topology_build(&t, g.decision);
            assert_int_equal(golden_edge(&t, json_object_get(of, "chosen")), g.decision[n - 3]);
            assert_int_equal(json_array_size(edges), topology_edges(n));
            for (int e = 0; e < topology_edges(n); e++) {
                json_t *edge = json_array_get(edges, (size_t)e);
                int32_t number = golden_edge(&t, json_array_get(edge, 0));
                check_near(at[number], json_real_value(json_array_get(edge, 1)), 1e-9);
            }
            topology_free(&t);
        }
        free(step);
        m->ops->free(m);
        golden_free(&g);
    }
}

static void golden_gradients(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        golden g;
        golden_load(&g, golden_names[i]);
        topology_model *m = golden_model(&g);
        double *log_q = mem_zeros((size_t)g.count, sizeof *log_q);
        check_status(m->ops->gradient(m, log_q, g.decision, g.w, g.count));
        for (int j = 0; j < g.count; j++)
            check_near(log_q[j], g.log_q[j], 1e-9);
        assert_true(golden_gradient_error(&g, &m->params) < 1e-6);
        free(log_q);
        m->ops->free(m);
        golden_free(&g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_log_q),
        cmocka_unit_test(golden_steps),
        cmocka_unit_test(golden_gradients),
    };
    return cmocka_run_group_tests_name("artreeformer_f64", tests, NULL, NULL);
}

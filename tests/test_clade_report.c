#include "support/check.h"
#include "support/exact.h"
#include "support/files.h"
#include "support/memory.h"

#include "artreeformer.h"
#include "base/rng.h"
#include "results/clade_report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TAXA = 6, TREES = 105, N = TAXA - 3 };

static void make_sample(tree_set *set, split_table *splits)
{
    taxa names;
    rng r = rng_at(31, RNG_TEST, 0, 0);
    taxa_init(&names);
    for (char c = 'a'; c < 'a' + TAXA; c++)
        check_status(taxa_add(&names, &c, 1));
    check_status(tree_set_init(set, &names));
    check_status(split_table_init(splits, TAXA));
    for (int i = 0; i < 12; i++) {
        int32_t decision[N];
        double weight = rng_exponential(&r);
        exact_tree(decision, (int)rng_below(&r, TREES), TAXA);
        check_status(tree_set_add(set, decision, weight));
        check_status(split_table_add(splits, decision, NULL, weight));
    }
    check_status(tree_set_normalise(set));
    taxa_free(&names);
}

/* The credible level of every tree against the sum over all that are as probable: exact if the list
 * is long enough, within five standard errors if it comes from draws. */
static void levels(void **state)
{
    (void)state;
    tree_set set;
    split_table splits;
    make_sample(&set, &splits);
    for (int kind = CLADE_CCD0; kind <= CLADE_CCD2; kind++)
        for (size_t best = 4; best <= 200; best += 196) {
            clade_report *r;
            clade_scratch s;
            double log_q[TREES];
            int drawn = 0;
            check_status(clade_report_create(&r, &set, (clade_kind)kind, best));
            check_status(clade_scratch_init(&s, r->density));
            for (int i = 0; i < TREES; i++) {
                int32_t decision[N];
                exact_tree(decision, i, TAXA);
                log_q[i] = clade_density_log_q(r->density, decision, &s);
            }
            for (int i = 0; i < TREES; i++) {
                int32_t decision[N];
                clade_level is;
                double expected = 0;
                size_t rank = 1;
                exact_tree(decision, i, TAXA);
                check_status(clade_report_level(&is, r, decision));
                for (int j = 0; j < TREES; j++) {
                    expected += log_q[j] >= log_q[i] - 1e-9 ? exp(log_q[j]) : 0;
                    rank += log_q[j] > log_q[i] + 1e-9;
                }
                if (isinf(log_q[i])) {
                    assert_true(isinf(is.log_p) && is.level == 1 && is.rank == 0);
                    continue;
                }
                assert_true(is.log_p == log_q[i]);
                assert_true(is.rank == 0 ? best == 4 : is.rank >= rank);
                drawn += is.error > 0;
                check_near(is.level, expected, is.error > 0 ? 5 * is.error + 1e-3 : 1e-9);
            }
            assert_true(best == 4 ? drawn > 0 : drawn == 0);
            clade_scratch_free(&s);
            clade_report_free(r);
        }
    split_table_free(&splits);
    tree_set_free(&set);
}

/* Of CCD1 the probability of a clade is its frequency, on either side; of all kinds it is the sum
 * over the trees that have it. */
static void clades(void **state)
{
    (void)state;
    tree_set set;
    split_table splits;
    make_sample(&set, &splits);
    for (int kind = CLADE_CCD0; kind <= CLADE_CCD2; kind++) {
        clade_report *r;
        check_status(clade_report_create(&r, &set, (clade_kind)kind, 1));
        for (uint64_t bits = 1; bits < 63; bits++) {
            uint64_t other = 63 & ~bits;
            double frequency, same, p = clade_report_clade(&frequency, r, &bits), expected = 0;
            assert_true(p == clade_report_clade(&same, r, &other) && same == frequency);
            int64_t at = split_table_find(&splits, bits & 1 ? &other : &bits);
            check_near(frequency, at < 0 ? 0 : split_frequency(&splits, (size_t)at), 1e-12);
            if (kind == CLADE_CCD1)
                check_near(p, frequency, 1e-12);
            for (int i = 0; i < TREES; i++) {
                int32_t decision[N], order[2 * TAXA];
                uint64_t split[2 * TAXA];
                topology t;
                clade_level is;
                exact_tree(decision, i, TAXA);
                check_status(topology_init(&t, TAXA));
                topology_build(&t, decision);
                splits_of(split, &t, order);
                topology_free(&t);
                bool has = false;
                for (int e = 0; e < topology_edges(TAXA); e++)
                    has = has || split[e] == (bits & 1 ? other : bits);
                is.log_p = has ? clade_density_log_q(r->density, decision, &r->scratch) : 0;
                expected += has ? exp(is.log_p) : 0;
            }
            check_near(p, expected, 1e-12);
        }
        clade_report_free(r);
    }
    split_table_free(&splits);
    tree_set_free(&set);
}

static void files(void **state)
{
    (void)state;
    static const char *const BEGIN[] = {"(", "(", "(", "#NEXUS", "probability\t", "entropy_drop\t"};
    tree_set set;
    split_table splits;
    clade_report *r;
    make_sample(&set, &splits);
    check_status(clade_report_create(&r, &set, CLADE_CCD1, 10));
    assert_int_equal(r->n_best, 10);
    check_status(clade_report_write(r, &splits, scratch_path("a"), NULL));
    for (int i = 0; CLADE_REPORT_SUFFIXES[i]; i++) {
        char name[64] = "a";
        strcat(name, CLADE_REPORT_SUFFIXES[i]);
        char *text = file_text(scratch_path(name));
        assert_non_null(text);
        assert_memory_equal(text, BEGIN[i], strlen(BEGIN[i]));
        if (strcmp(CLADE_REPORT_SUFFIXES[i], ".rogues.tsv") == 0) {
            double last = INFINITY; /* as many lines as taxa, largest drop first */
            char *line = strchr(text, '\n') + 1;
            int lines = 0;
            for (; *line; line = strchr(line, '\n') + 1, lines++) {
                double drop = strtod(line, NULL);
                assert_true(drop <= last);
                last = drop;
            }
            assert_int_equal(lines, TAXA);
        }
        free(text);
    }
    clade_report_free(r);
    split_table_free(&splits);
    tree_set_free(&set);
}

static void memory_runs_out(void **state)
{
    (void)state;
    tree_set set;
    split_table splits;
    clade_report *r;
    make_sample(&set, &splits);
    long k = 0;
    int status;
    do {
        memory_fail_at(++k);
        status = clade_report_create(&r, &set, CLADE_CCD2, 20);
        memory_fail_at(0);
        assert_true(status == ART_OK || (status == ART_ERR_NOMEM && !r));
    } while (status);
    assert_true(k > 30);
    clade_report_free(r);
    split_table_free(&splits);
    tree_set_free(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(levels),
        cmocka_unit_test(clades),
        in_scratch_folder(files),
        cmocka_unit_test(memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

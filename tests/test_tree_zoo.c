/* Tree files as they occur (../shared/data/zoo/trees, and one of each kind of
 * ../shared/data/trees): read, with numbers that DendroPy 4.5.2 gives, or refused with words that
 * help. */
#include "support/check.h"
#include "support/files.h"

#include "artreeformer.h"
#include "tree/splits.h"
#include "tree/tree_file.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* trees, taxa, and of the first tree the inner branches and the sum of the lengths; trees < 0:
 * refused with the words. A length of 0: there are none, or some are negative. */
static const struct row {
    const char *file;
    int trees, taxa, inner;
    double length;
    const char *words;
} ROWS[] = {
    {"bp_horses.tree", 2, 10, 7, 0, NULL},                /* negative lengths */
    {"bp_int_node_labels.nwk", 1, 28, 25, 4094.59, NULL}, /* a broken name; as ape 5.7 reads it */
    {"bp_lysin.trees", 1, 25, 22, 0, NULL}, /* PAML; DendroPy does not read it, ape neither */
    {"dp_APG_Angiosperms.newick", -1, 0, 0, 0, "45 node(s) with a single child"},
    {"dp_apternodus.tre", 26, 30, 27, 0, NULL},
    {"dp_cetaceans.mb.no-clock.mcmc.weighted-01.trees", 251, 22, 19, 4.100000000000001, NULL},
    {"dp_curated-with-translate-block-and-internal-taxa.nex", 3, 8, 5, 196, NULL},
    {"dp_curated-with-translate-block-and-no-taxa-block.nex", 3, 8, 5, 196, NULL},
    {"dp_incomplete_leaves_rooted.dendropy-pruned.nex", -1, 0, 0, 0,
     "'Loxocemus_bicolor' of the tree is not in the first tree of the file"},
    {"dp_maj-rule-bug1.trees.nexus", 100, 59, 49, 0, NULL},
    {"dp_multitreeblocks.nex", 9, 8, 5, 105, NULL},
    {"dp_pythonidae.mb.con", 2, 33, 29, 3.1010690000000007, NULL},
    {"ft_carnivore.tree", 1, 63, 60, 49.01528844121963, NULL},
    {"ft_influenza.tree", 1, 687, 684, 0, NULL}, /* negative lengths */
    {"pa_RAxML_bipartitions.woodmouse", 1, 15, 12, 0.07640413254777026, NULL},
    {"pa_woodmouse.mrbayes.nex.run1.t", 1001, 15, 12, 0, NULL},
    {"ti_beast_mcc.tree", 1, 15, 12, 106.59516070020351, NULL},
    {"zc_DS1.con.tre", 1, 27, 24, 0.4260746752782373, NULL},
    {"../../trees/DS1/truth/rep_1.trprobs", 1209, 27, 24, 0, NULL},
    {"../../trees/DS1/short/rep_1.trprobs", 1278, 27, 24, 0, NULL},
};
enum { N_ROWS = sizeof ROWS / sizeof ROWS[0] };

static int look_at(const struct row *row, const char *path)
{
    tree_file f;
    diag d;
    int trees = 0, wrong = 0;
    double length = 0;
    diag_init(&d);
    const tree_options o = {.use = TREE_LENGTHS_KNOWN, .polytomies = true};
    int status = tree_file_open(&f, path, &o, &d);
    while (!status && tree_file_more(&f) && (status = tree_file_next(&f, &d)) == ART_OK) {
        if (trees++ > 0)
            continue;
        wrong |= row->trees > 0 && f.taxa->count - 3 - f.tree.n_contracted != row->inner;
        for (int32_t e = 0; f.tree.has_lengths && e < topology_edges(f.taxa->count); e++)
            length += f.tree.length[e];
    }
    wrong |= (status == ART_OK) != (row->trees > 0);
    if (!wrong && row->trees > 0)
        /* Two sums of up to 1371 terms in different orders. */
        wrong = trees != row->trees || f.taxa->count != row->taxa ||
                !(fabs(length - row->length) <= 1e-12 * row->length);
    if (!wrong && row->trees < 0) {
        wrong = 1;
        for (size_t i = 0; i < d.count; i++)
            if (d.message[i].level == DIAG_ERROR && strstr(d.message[i].text, row->words))
                wrong = 0;
    }
    if (wrong) {
        print_error("%s: status %d, %d trees, length %.17g\n", row->file, status, trees, length);
        for (size_t i = 0; i < d.count; i++)
            print_error("  %s\n", d.message[i].text);
    }
    diag_free(&d);
    tree_file_free(&f);
    return wrong;
}

static void every_file(void **state)
{
    (void)state;
    int wrong = 0;
    for (int i = 0; i < N_ROWS; i++) {
        char relative[256];
        snprintf(relative, sizeof relative, "data/zoo/trees/%s", ROWS[i].file);
        const char *path = shared_path(relative);
        if (!path)
            skip_because("../shared/data/zoo is not there");
        wrong += look_at(&ROWS[i], path);
    }
    assert_int_equal(wrong, 0);
}

/* Some trees have no weight: the sum is that of DendroPy, which counts them 1. */
static void missing_weights_count_1(void **state)
{
    (void)state;
    const char *path =
        shared_path("data/zoo/trees/dp_cetaceans.mb.no-clock.mcmc.weighted-01.trees");
    if (!path)
        skip_because("../shared/data/zoo is not there");
    tree_file f;
    check_status(tree_file_open(&f, path, NULL, NULL));
    assert_true(f.weighted);
    /* Two sums of 251 terms. */
    assert_true(fabs(f.total - 9977.856779761278) < 1e-9);
    tree_file_free(&f);
}

/* Distances of PAUP's bootstrap trees, which have polytomies: sum, largest, and that of the first
 * two, as DendroPy has them. */
static void distances_with_polytomies(void **state)
{
    (void)state;
    const char *path = shared_path("data/zoo/trees/dp_maj-rule-bug1.trees.nexus");
    if (!path)
        skip_because("../shared/data/zoo is not there");
    enum { TREES = 100, TAXA = 59, WIDTH = TAXA - 3, EDGES = 2 * TAXA - 3 };
    static int32_t decision[TREES][WIDTH];
    static bool is_contracted[EDGES];
    tree_file f;
    check_status(tree_file_open(&f, path, &(tree_options){.polytomies = true}, NULL));
    assert_int_equal(f.count, TREES);
    assert_int_equal(f.taxa->count, TAXA);
    for (int i = 0; i < TREES; i++) {
        check_status(tree_file_next(&f, NULL));
        memcpy(decision[i], f.tree.decision, sizeof decision[i]);
    }
    tree_file_free(&f);
    topology t;
    rf distance;
    int sum = 0, largest = 0, first = 0;
    check_status(topology_init(&t, TAXA));
    check_status(rf_init(&distance, TAXA));
    for (int i = 0; i < TREES; i++) {
        topology_build(&t, decision[i]);
        topology_contracted(is_contracted, &t, decision[i]);
        rf_set_contracted(&distance, &t, is_contracted);
        for (int k = 0; k < TREES; k++) {
            topology_build(&t, decision[k]);
            topology_contracted(is_contracted, &t, decision[k]);
            const int now = rf_distance_contracted(&distance, &t, is_contracted);
            sum += now;
            largest = now > largest ? now : largest;
            first = i == 0 && k == 1 ? now : first;
        }
    }
    assert_int_equal(sum, 390660);
    assert_int_equal(largest, 71);
    assert_int_equal(first, 50);
    rf_free(&distance);
    topology_free(&t);
}

/* A file that is added there has to be added here. */
static void the_table_is_complete(void **state)
{
    (void)state;
    const char *folder = shared_path("data/zoo/trees");
    DIR *files = folder ? opendir(folder) : NULL;
    if (!files)
        skip_because("../shared/data/zoo is not there");
    int missing = 0;
    for (const struct dirent *e; (e = readdir(files));) {
        bool has = *e->d_name == '.';
        for (int i = 0; i < N_ROWS; i++)
            has |= strcmp(e->d_name, ROWS[i].file) == 0;
        if (!has)
            print_error("%s is not in the table\n", e->d_name);
        missing += !has;
    }
    closedir(files);
    assert_int_equal(missing, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_file),
        cmocka_unit_test(missing_weights_count_1),
        cmocka_unit_test(distances_with_polytomies),
        cmocka_unit_test(the_table_is_complete),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

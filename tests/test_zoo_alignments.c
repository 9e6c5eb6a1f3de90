/* Alignments as they occur: every file of the folders zoo, real, mrbayes and large of the shared
 * data, read or refused. Taxa and sites of what is read were counted with ape 5.7, or with DendroPy
 * 4.5.2 and Biopython 1.80 where ape cannot read the file; where two can, they agree. What is
 * refused must say why in the words of the table. A file that is not in the table fails the test.
 */
#include "support/check.h"

#include "artreeformer.h"
#include "seq/alignment.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

typedef struct zoo_file {
    const char *path; /* below data/ */
    int taxa;         /* 0: the file is refused */
    size_t sites;
    const char *words; /* what the messages must have, separated by '|' */
} zoo_file;

static const zoo_file FILES[] = {
    {"zoo/alignments/b1_Primates_two_partition.nex", 12, 898, "'assumptions'"},
    {"zoo/alignments/b2_E15-binary.fasta", 0, 0,
     ":4:1: error: the alignment has morphological, binary|'0' at site 1|nucleotides only"},
    {"zoo/alignments/b2_M243.nex", 89, 697, ":195:476: note: sets of bases"},
    {"zoo/alignments/b2_ML_analysis.nex", 8, 200, "NUL bytes in comments|'PAUP'"},
    {"zoo/alignments/b2_angiosperms.nex", 0, 0,
     ":25:11: error: block 'characters' (no DATATYPE, which means STANDARD)|'0' at site 1 of "
     "sequence 'ANCEST'"},
    {"zoo/alignments/b2_dna.nex", 10, 705, ""},
    {"zoo/alignments/b2_humanChimpSNP.nex", 0, 0,
     ":7:9: error: block 'characters' (no DATATYPE|'0' at site 1 of sequence 'Chimp'"},
    {"zoo/alignments/b2_protein.nex", 0, 0,
     ":6:17: error: block 'data' has DATATYPE 'protein'|'P' at site 4 of sequence 'Cow' (line 8, "
     "column 12)|the DNA of the same genes"},
    {"zoo/alignments/b2_ringe.nex", 0, 0,
     ":7:10: error: block 'characters' (no DATATYPE|'0' at site 1 of sequence 'oldnorse'"},
    {"zoo/alignments/b2_testHKY1749.nex", 74, 2253, "'mrbayes'|78 of 2253"},
    {"zoo/alignments/b2_traitlab.nex", 0, 0,
     ":11:9: error: block 'DATA' (no DATATYPE|'0' at site 1 of sequence 'taxon_1'"},
    {"zoo/alignments/bp_alignment.phylip", 0, 0,
     ":2:1: error: all 5 sequences have 225 characters where the header says 222"},
    {"zoo/alignments/bp_codonposset.nex", 0, 0, "2 sequences -- a tree needs at least 3"},
    {"zoo/alignments/bp_dottednames.phylip", 0, 0,
     ":2:1: error: all 5 sequences have 225 characters where the header says 222"},
    {"zoo/alignments/bp_horses.phy", 10, 40, "read as strict PHYLIP"},
    {"zoo/alignments/bp_opuntia.aln", 7, 156, ""},
    {"zoo/alignments/bp_reference_dna.phy", 6, 13, "read as strict PHYLIP"},
    {"zoo/alignments/bp_test_Nexus_input.nex", 9, 48, "'spam'"},
    {"zoo/alignments/dp_bad_names.fasta", 0, 0,
     ":5:3: error: the name 'a' was used already on line 1|read full names"},
    {"zoo/alignments/pa_woodmouse.fasta", 15, 965, ""},
    {"zoo/alignments/pa_woodmouse.nxs", 15, 965, "'Distances'"},
    {"real/Bergsten_2013.nex", 38, 2111, "'SETS' is ignored: sets and partitions"},
    {"real/Brown_2012.nex", 41, 1665, "'SETS'"},
    {"real/Cognato_2001.nex", 44, 1897, "'SETS'"},
    {"real/Day_2013.nex", 152, 3586, "'SETS'"},
    {"real/Devitt_2013.nex", 69, 823, "'SETS'"},
    {"real/Kawahara_2013.nex", 70, 2238, "'SETS'"},
    {"real/Murray_2013.nex", 237, 3111, "'SETS'"},
    {"real/Nguyen_2016a_aa.nex", 0, 0,
     ":4:18: error: block 'DATA' has DATATYPE 'protein'|'I' at site 7 of sequence 'A. pisum'"},
    {"real/Nguyen_2016b_aa.nex", 0, 0,
     ":4:18: error: block 'DATA' has DATATYPE 'protein'|'P' at site 7"},
    {"real/Seago_2011.nex", 97, 2253, "'SETS'"},
    {"real/Worobey_2014a.nex", 146, 1716, "'SETS'"},
    {"real/ng_multi199.part", 0, 0, ":1:1: error: the file begins with 'BIN, morph2|partitions"},
    {"real/ng_multi199.phy", 0, 0,
     ":2:30: error: the alignment has morphological|'0' at site 1 of sequence "
     "'Sphenodon_punctatus'"},
    {"real/ng_prim.part", 0, 0, "'GTR+G+FO, NADH4|a file of partitions|one model"},
    {"real/ng_prim.phy", 12, 898, ""},
    {"real/ng_prot21.fa", 0, 0,
     ":2:1: error: the alignment looks like protein|first P at site 1|the DNA of the same genes"},
    {"real/ng_prot21.part", 0, 0, "'LG4X, p1|a file of partitions"},
    {"mrbayes/avian_ovomucoids.nex", 0, 0, ":8:21: error: block 'data' has DATATYPE 'protein'"},
    {"mrbayes/cynmix.nex", 0, 0,
     ":7:21: error: block 'data' has DATATYPE 'mixed(Standard:1-166,DNA:167-3246)'|'0' at site 1 "
     "of "
     "sequence 'Ibalia'|a file of their own"},
    {"mrbayes/hym.nex", 0, 0,
     ":9:18: error: block 'data' has DATATYPE 'mixed(standard:1-200,DNA:201-510)'|'0' at site 1"},
    {"mrbayes/kim.nex", 0, 0,
     ":9:21: error|protein:1399-1692|'P' at site 1401 of sequence 'Orsodacne' (line 268, column "
     "23)"},
    {"mrbayes/primates.nex", 12, 898, ""},
    {"mrbayes/replicase.nex", 9, 720, ""},
    {"large/101.phy", 101, 1858, "1 of 1858"},
    {"large/1288.phy", 1288, 1200, ""},
    {"large/150.phy", 150, 1269, ""},
    {"large/354.phy", 354, 460, ""},
};
enum { N_FILES = sizeof FILES / sizeof *FILES };

/* Some message must have each of the words. */
static void check_words(const diag *d, const zoo_file *f)
{
    char list[512];
    snprintf(list, sizeof list, "%s", f->words);
    for (char *word = strtok(list, "|"); word; word = strtok(NULL, "|")) {
        bool found = false;
        for (size_t i = 0; i < d->count && !found; i++)
            found = strstr(d->message[i].text, word) != NULL;
        if (!found)
            fail_msg("%s: \"%s\" is not in: %s", f->path, word,
                     d->count ? d->message[d->count - 1].text : "(nothing)");
    }
}

static void one_file(void **state)
{
    const zoo_file *f = *state;
    char path[128];
    snprintf(path, sizeof path, "data/%s", f->path);
    alignment a;
    diag d;
    diag_init(&d);
    int status = alignment_read(&a, shared_path(path), NULL, &d);
    check_words(&d, f);
    assert_int_equal(status, f->taxa ? ART_OK : ART_ERR_INPUT);
    assert_int_equal(a.n_taxa, f->taxa);
    assert_int_equal(a.n_sites, f->sites);
    size_t errors = 0;
    for (size_t i = 0; i < d.count; i++)
        errors += d.message[i].level == DIAG_ERROR;
    assert_true(f->taxa ? errors == 0 : errors >= 1 && errors <= 2); /* nobody reads more */
    alignment_free(&a);
    diag_free(&d);
}

static void every_file_is_in_the_table(void **state)
{
    (void)state;
    static const char *const folders[] = {"zoo/alignments", "real", "mrbayes", "large"};
    for (size_t k = 0; k < sizeof folders / sizeof *folders; k++) {
        char path[512];
        snprintf(path, sizeof path, "data/%s", folders[k]);
        DIR *folder = opendir(shared_path(path));
        assert_non_null(folder);
        for (const struct dirent *e; (e = readdir(folder)) != NULL;) {
            bool known = e->d_name[0] == '.' || strstr(e->d_name, ".md");
            snprintf(path, sizeof path, "%s/%s", folders[k], e->d_name);
            for (size_t i = 0; i < N_FILES && !known; i++)
                known = strcmp(FILES[i].path, path) == 0;
            if (!known)
                fail_msg("%s is not in the table", path);
        }
        closedir(folder);
    }
}

int main(void)
{
    static struct CMUnitTest tests[N_FILES + 1];
    for (size_t i = 0; i < N_FILES; i++)
        tests[i] = (struct CMUnitTest){.name = FILES[i].path,
                                       .test_func = one_file,
                                       .initial_state = (void *)(uintptr_t)&FILES[i]};
    tests[N_FILES] = (struct CMUnitTest)cmocka_unit_test(every_file_is_in_the_table);
    return cmocka_run_group_tests_name("zoo_alignments", tests, NULL, NULL);
}

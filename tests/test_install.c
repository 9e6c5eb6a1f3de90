/* What `make install` leaves behind works for somebody else: files in their places, a program
 * compiled against the library, a manual page and completions that the tools accept. */
#include "support/check.h"
#include "support/files.h"
#include "support/run.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char CLIENT[] =
    "#include <artreeformer.h>\n"
    "#include <stdio.h>\n"
    "int main(void)\n"
    "{\n"
    "    printf(\"%s, %s\\n\", art_version(), art_strerror(ART_ERR_INPUT));\n"
    "    return 0;\n"
    "}\n";

static int install(void **state)
{
    (void)state;
    const char *folder = scratch_make();
    const char *const arguments[] = {"--install", ART_BUILD_DIR, "--prefix", folder, NULL};
    run_result r = run_arguments(&(run_options){.program = "cmake"}, arguments);
    check_run(&r, "cmake --install", 0, NULL, NULL);
    run_free(&r);
    return 0;
}

static int uninstall(void **state)
{
    (void)state;
    scratch_remove();
    return 0;
}

/* Runs a line of shell in the folder; skips the test where a program it needs is absent. */
static void check_shell(const char *needs, const char *line, const char *expected)
{
    char script[2048];
    const char *const arguments[] = {"-c", script, NULL};
    snprintf(script, sizeof script, "command -v %s >/dev/null || exit 99", needs);
    run_result r = run_arguments(&(run_options){.program = "sh"}, arguments);
    int absent = r.code == 99;
    run_free(&r);
    if (absent)
        skip_because("there is no %s", needs);
    snprintf(script, sizeof script, "cd '%s' && %s", scratch_path("."), line);
    r = run_arguments(&(run_options){.program = "sh"}, arguments);
    check_run(&r, line, 0, expected, NULL);
    run_free(&r);
}

static void files_are_in_their_places(void **state)
{
    (void)state;
    static const char *const place[] = {"bin/artreeformer",
                                        "include/artreeformer.h",
                                        "lib*/libartreeformer.a",
                                        "lib*/libartreeformer.so",
                                        "lib*/pkgconfig/artreeformer.pc",
                                        "share/man/man1/artreeformer.1",
                                        "share/bash-completion/completions/artreeformer",
                                        "share/zsh/site-functions/_artreeformer",
                                        "share/fish/vendor_completions.d/artreeformer.fish"};
    for (size_t i = 0; i < sizeof place / sizeof place[0]; i++) {
        char line[256];
        snprintf(line, sizeof line, "ls %s", place[i]);
        check_shell("ls", line, NULL);
    }
    check_shell("ls", "bin/artreeformer --version", "artreeformer " ART_VERSION "\n");
}

#define WITH_PKG_CONFIG "PKG_CONFIG_PATH=$(echo $PWD/lib*/pkgconfig) && export PKG_CONFIG_PATH && "

static void a_program_compiles_against_the_library(void **state)
{
    (void)state;
#ifdef __SANITIZE_ADDRESS__
    skip_because("a library with sanitizers needs a program with sanitizers");
#endif
    scratch_write("client.c", CLIENT);
    check_shell("pkg-config",
                WITH_PKG_CONFIG
                "cc -o shared client.c $(pkg-config --cflags --libs artreeformer) && "
                "LD_LIBRARY_PATH=$(echo $PWD/lib*) ./shared",
                ART_VERSION ", the input is not valid\n");
    check_shell("pkg-config",
                WITH_PKG_CONFIG
                "rm lib*/libartreeformer.so* && "
                "cc -o static client.c $(pkg-config --cflags --libs --static artreeformer) && "
                "./static",
                ART_VERSION ", the input is not valid\n");
}

static void manual_page_is_sound(void **state)
{
    (void)state;
    check_shell("mandoc", "mandoc -T lint -W error share/man/man1/artreeformer.1", NULL);
    check_shell("mandoc", "mandoc -T ascii share/man/man1/artreeformer.1 | col -b",
                "NAME|COMMANDS|EXIT STATUS|--config FILE");
}

/* What bash offers for a half-written line; the last word is the one to complete. */
static void completions_complete(void **state)
{
    (void)state;
    check_shell("bash",
                "bash -c '. share/bash-completion/completions/artreeformer; "
                "COMP_WORDS=(artreeformer --ver) COMP_CWORD=1; _artreeformer; "
                "echo \"${COMPREPLY[@]}\"'",
                "--version\n");
    check_shell("bash",
                "bash -c '. share/bash-completion/completions/artreeformer; "
                "COMP_WORDS=(artreeformer simulate --form) COMP_CWORD=2; _artreeformer; "
                "echo \"${COMPREPLY[@]}\"; "
                "COMP_WORDS=(artreeformer simulate --format ne) COMP_CWORD=3; _artreeformer; "
                "echo \"${COMPREPLY[@]}\"'",
                "--format\nnexus\n");
}

static void zsh_and_fish_accept_their_completions(void **state)
{
    (void)state;
    check_shell("zsh", "zsh -n share/zsh/site-functions/_artreeformer", NULL);
    check_shell("fish", "fish -n share/fish/vendor_completions.d/artreeformer.fish", NULL);
}

/* What the examples are run on. */
static void write_sequences(void)
{
    scratch_write("data.fasta", ">a\nACGTACGTTA\n>b\nACGAACGTTA\n>c\nTCGAACGATA\n>d\nTCGAACGATC\n");
}

/* The example of the README, on four short sequences. */
static void the_example_runs(void **state)
{
    (void)state;
#ifdef __SANITIZE_ADDRESS__
    skip_because("a library with sanitizers needs a program with sanitizers");
#endif
    write_sequences();
    check_shell("pkg-config",
                WITH_PKG_CONFIG "cc -o example " ART_SOURCE_DIR "/examples/evidence.c "
                                "$(pkg-config --cflags --libs artreeformer) && "
                                "LD_LIBRARY_PATH=$(echo $PWD/lib*) ./example data.fasta",
                "log evidence -");
    /* with a run path, as the README has it for private prefixes, nothing is set at the start */
    check_shell("pkg-config",
                WITH_PKG_CONFIG "cc -o with_path " ART_SOURCE_DIR "/examples/evidence.c "
                                "$(pkg-config --cflags --libs artreeformer) "
                                "-Wl,-rpath,$(pkg-config --variable=libdir artreeformer) && "
                                "env -u LD_LIBRARY_PATH ./with_path data.fasta",
                "log evidence -");
}

/* The longer one: its files are there, its checkpoints are not, the metrics are; a time limit. */
static void the_example_with_files_runs(void **state)
{
    (void)state;
#ifdef __SANITIZE_ADDRESS__
    skip_because("a library with sanitizers needs a program with sanitizers");
#endif
    write_sequences();
    check_shell("pkg-config",
                WITH_PKG_CONFIG "cc -Wall -Wextra -Werror -o run " ART_SOURCE_DIR "/examples/run.c "
                                "$(pkg-config --cflags --libs artreeformer) && "
                                "export LD_LIBRARY_PATH=$(echo $PWD/lib*) && "
                                "./run data.fasta found 2>/dev/null && "
                                "ls found.json found.report.html found.metrics.jsonl found.trprobs "
                                "&& ! ls found.ckp* && ./run data.fasta soon 60 && ls soon.contree",
                "log evidence -|) c,d\n|found.trprobs|soon.contree\n");
}

/* Estimated parameters with a prior, an average, and a prior that cannot be. */
static void the_example_with_parameters_runs(void **state)
{
    (void)state;
#ifdef __SANITIZE_ADDRESS__
    skip_because("a library with sanitizers needs a program with sanitizers");
#endif
    write_sequences();
    check_shell("pkg-config",
                WITH_PKG_CONFIG "cc -Wall -Wextra -Werror -o parameters " ART_SOURCE_DIR
                                "/examples/parameters.c "
                                "$(pkg-config --cflags --libs artreeformer) && "
                                "export LD_LIBRARY_PATH=$(echo $PWD/lib*) && "
                                "./parameters data.fasta K80 'kappa=beta(2,1)' 2>/dev/null && "
                                "./parameters data.fasta JC,K80 2>/dev/null && "
                                "! ./parameters data.fasta JC 'kappa=beta(2,1)' 2>&1",
                "TL |kappa |K80 has probability 0.|kappa has a prior, but the model JC");
}

/* The second program in the header's opening comment. */
static void the_smallest_run_runs(void **state)
{
    (void)state;
#ifdef __SANITIZE_ADDRESS__
    skip_because("a library with sanitizers needs a program with sanitizers");
#endif
    scratch_write("primates.fasta",
                  ">a\nACGTACGTTA\n>b\nACGAACGTTA\n>c\nTCGAACGATA\n>d\nTCGAACGATC\n");
    check_shell(
        "pkg-config",
        WITH_PKG_CONFIG
        "{ printf '%s\\n' '#include <artreeformer.h>' '#include <stdio.h>' 'int main(void) {' "
        "'art_alignment *a; art_alignment_read(&a, \"primates.fasta\", NULL);'; "
        "sed -n '/^ \\*     art_run \\*r/,/art_run_free/s/^ \\*//p' include/artreeformer.h; "
        "echo 'art_alignment_free(a); }'; } >run.c && "
        "cc -o smallest_run run.c $(pkg-config --cflags --libs artreeformer) && "
        "LD_LIBRARY_PATH=$(echo $PWD/lib*) ./smallest_run && "
        "ls primates.json primates.report.html primates.metrics.jsonl && ! ls primates.ckp*",
        "primates.json\nprimates.metrics.jsonl\nprimates.report.html\n");
}

/* The program in the header's opening comment: on data, and on a file that is not there. */
static void the_smallest_program_runs(void **state)
{
    (void)state;
#ifdef __SANITIZE_ADDRESS__
    skip_because("a library with sanitizers needs a program with sanitizers");
#endif
    scratch_write("primates.fasta",
                  ">a\nACGTACGTTA\n>b\nACGAACGTTA\n>c\nTCGAACGATA\n>d\nTCGAACGATC\n");
    check_shell(
        "pkg-config",
        WITH_PKG_CONFIG
        "{ printf '%s\\n' '#include <artreeformer.h>' '#include <stdio.h>' 'int main(void) {'; "
        "sed -n '/^ \\*     art_alignment \\*a/,/art_alignment_free/s/^ \\*//p' "
        "include/artreeformer.h; echo '}'; } >smallest.c && "
        "cc -o smallest smallest.c $(pkg-config --cflags --libs artreeformer) && "
        "export LD_LIBRARY_PATH=$(echo $PWD/lib*) && ./smallest && "
        "rm primates.fasta && ./smallest && echo well",
        "log evidence -|well\n");
}

/* Where the tests' library is absent, the product is built all the same. */
static void cmocka_is_for_tests_only(void **state)
{
    (void)state;
    check_shell("pkg-config",
                "mkdir pc && for p in jansson zlib; do "
                "cp \"$(pkg-config --variable=pcfiledir $p)/$p.pc\" pc; done && "
                "PKG_CONFIG_LIBDIR=$PWD/pc cmake -S '" ART_SOURCE_DIR "' -B build && "
                "cmake --build build --target help >targets && grep -w product targets && "
                "! grep '[.][.][.] test_' targets",
                "The tests are left out: they need cmocka|product");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_are_in_their_places),
        cmocka_unit_test(manual_page_is_sound),
        cmocka_unit_test(completions_complete),
        cmocka_unit_test(zsh_and_fish_accept_their_completions),
        cmocka_unit_test(the_example_runs),
        cmocka_unit_test(the_example_with_files_runs),
        cmocka_unit_test(the_example_with_parameters_runs),
        cmocka_unit_test(the_smallest_program_runs),
        cmocka_unit_test(the_smallest_run_runs),
        cmocka_unit_test(a_program_compiles_against_the_library),
        cmocka_unit_test(cmocka_is_for_tests_only),
    };
    return cmocka_run_group_tests_name("install", tests, install, uninstall);
}

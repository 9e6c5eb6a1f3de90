/* scripts/deps, with programs of our own in the place of Debian's: dpkg-query knows the packages
 * named in the file `there`, apt-get notes how it was called and refuses those in `broken`. */
#include "support/check.h"
#include "support/files.h"
#include "support/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define NEEDED "gcc make cmake pkg-config libc6-dev zlib1g-dev libjansson-dev"

static void program(const char *name, const char *body)
{
    char text[512];
    snprintf(text, sizeof text, "#!/bin/sh\n%s\n", body);
    assert_int_equal(chmod(scratch_write(name, text), 0755), 0);
}

/* A machine where so many packages are there, for a user of that number. */
static int machine(void **state)
{
    if (scratch_setup(state))
        return -1;
    program("dpkg-query", "for last; do :; done\n"
                          "grep -qx -- \"$last\" there && echo install ok installed");
    program("id", "cat user");
    program("sudo", "[ -e nopassword ] || exit 1\necho sudo >>called\n"
                    "[ \"$1\" = -n ] || exec \"$@\"");
    program("apt-get",
            "echo \"$*\" >>called\nfor last; do ! grep -qx -- \"$last\" broken || exit 100; done");
    scratch_write("there", "");
    scratch_write("broken", "");
    scratch_write("user", "0\n");
    return 0;
}

static run_result deps(const char *what)
{
    char path[4096];
    snprintf(path, sizeof path, "PATH=%s:%s", scratch_path(""), getenv("PATH"));
    const char *const environment[] = {path, NULL};
    const char *const line[] = {ART_SOURCE_DIR "/scripts/deps", what, NULL};
    return run_arguments(&(run_options){.program = "sh", .environment = environment}, line);
}

/* How apt-get was called, all times together, or "none". */
static void expect(const char *what, int code, const char *out, const char *err, const char *called)
{
    run_result r = deps(what);
    check_run(&r, what, code, out, err);
    char *calls = file_text("called");
    if (!strstr(calls ? calls : "none\n", called))
        fail_msg("'%s' is not in the calls:\n%s", called, calls);
    free(calls);
    run_free(&r);
}

/* One name a line. */
static void put_there(const char *names)
{
    char *text = strdup(names);
    for (char *at = text; *at; at++)
        *at = *at == ' ' ? '\n' : *at;
    FILE *file = fopen("there", "a");
    assert_true(file && fprintf(file, "%s\n", text) > 0 && fclose(file) == 0);
    free(text);
}

static void users_are_told_the_line(void **state)
{
    (void)state;
    scratch_write("user", "1000\n");
    expect("build", 1, NULL, "Install them with:\n    sudo apt-get install -y " NEEDED "\n",
           "none\n");
    put_there(NEEDED);
    expect("build", 0, NULL, NULL, "none\n");
    expect("test", 1, NULL, "    sudo apt-get install -y libcmocka-dev\n", "none\n");
    expect("all", 2, NULL, "usage: ", "none\n");
    scratch_write("nopassword", "");
    expect("test", 0, "installing: libcmocka-dev\n", NULL,
           "sudo\ninstall -y -qq --no-install-recommends libcmocka-dev\n");
}

static void root_installs_what_is_missing(void **state)
{
    (void)state;
    put_there("gcc make cmake pkg-config libc6-dev zlib1g-dev");
    expect("build", 0, "installing: libjansson-dev\n", NULL,
           "install -y -qq --no-install-recommends libjansson-dev\n");
    scratch_write("broken", "libjansson-dev\n");
    expect("build", 100, NULL, NULL, "update -qq\n");
}

static void other_programs_are_optional(void **state)
{
    (void)state;
    put_there(NEEDED " libcmocka-dev g++ clang clang-format libclang-rt-dev git valgrind ccache");
    put_there("debootstrap iqtree libopenblas-serial-dev mrbayes python3-dendropy");
    scratch_write("broken", "r-cran-ape\n");
    expect("ci", 0,
           "installing, if possible: libhmsbeagle-dev r-cran-ape\n|could not install r-cran-ape: ",
           NULL, "--no-install-recommends libhmsbeagle-dev\n");
    scratch_write("user", "1000\n");
    expect("ci", 0, NULL, "    sudo apt-get install -y libhmsbeagle-dev r-cran-ape\n", "install");
    put_there("libhmsbeagle-dev r-cran-ape");
    run_result r = deps("ci");
    check_run(&r, "ci", 0, NULL, NULL);
    assert_string_equal(r.out, "");
    assert_string_equal(r.err, "");
    run_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(users_are_told_the_line, machine, scratch_teardown),
        cmocka_unit_test_setup_teardown(root_installs_what_is_missing, machine, scratch_teardown),
        cmocka_unit_test_setup_teardown(other_programs_are_optional, machine, scratch_teardown),
    };
    return cmocka_run_group_tests_name("deps", tests, NULL, NULL);
}

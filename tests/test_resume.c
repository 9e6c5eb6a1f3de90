/* Long runs as a user meets them: stopped, killed, resumed, refused. Everything a run leaves
 * behind is the same, byte for byte, however often it was interrupted and on however many
 * threads it ran; only times and memory differ.
 *
 * No verdict depends on how busy the machine is: signals and time limits come after so many pieces
 * of work (cli/test_hook.h). Where a signal comes from outside, the test waits for something that
 * the run did, or checks what holds at any instant. */
#include "support/check.h"
#include "support/files.h"
#include "support/run.h"

#include "base/rng.h"
#include "train/checkpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char ALIGNMENT[] = ">a\nACGTACGTTAGCATCGACGTACGATT\n>b\nACGAACGTTAGCATCGACGTACGATA\n"
                                ">c\nTCGAACGATAGCTTCGACTTACGATA\n>d\nTCGAACGATCGCTTCCACTTACGATG\n"
                                ">e\nTCCAAGGATCGCTTCCACTTAGGATG\n>f\nTCCAAGGATCGATTCCAATTAGGCTG\n";

enum { MAX_ARGUMENTS = 40 };

enum { LONGEST_WAIT = 300000 }; /* for something that must happen, in milliseconds */

enum { STOPS_TOO_LATE = 30 };

typedef struct place {
    char folder[64], alignment[96], prefix[96];
} place;

static void place_open(place *p)
{
    snprintf(p->folder, sizeof p->folder, "/tmp/art-resume-XXXXXX");
    assert_non_null(mkdtemp(p->folder));
    snprintf(p->alignment, sizeof p->alignment, "%s/data.fasta", p->folder);
    snprintf(p->prefix, sizeof p->prefix, "%s/run", p->folder);
    FILE *file = fopen(p->alignment, "w");
    assert_non_null(file);
    assert_true(fputs(ALIGNMENT, file) >= 0 && fclose(file) == 0);
}

static void place_close(place *p)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", p->folder);
    assert_int_equal(system(command), 0);
}

static void simulate(place *p, int taxa, int sites)
{
    char line[160];
    place_open(p);
    snprintf(line, sizeof line, "simulate -n %d -l %d --seed 4 --quiet --redo --prefix %s/data",
             taxa, sites, p->folder);
    run_well(line);
}

/* For the collapsed method: a tree of unequal branches, so that many trees matter. */
static void place_open_simulated(place *p)
{
    simulate(p, 10, 150);
}

/* Few sites, so that no table holds the posterior: chains over topologies. Without any time they
 * are as short as can be; test_chain_answer resumes longer ones. */
static void place_open_diffuse(place *p)
{
    simulate(p, 16, 8);
}

/* Under sanitizers a step takes tens of times as long. */
#ifdef ART_SANITIZED
#define STEPS    "--steps 20"
#define TRAINING "--anneal 5 --report-every 5 --evidence-particles 10"
#else
#define STEPS    "--steps 300"
#define TRAINING "--anneal 50 --report-every 50 --evidence-particles 100"
#endif

/* What a small run of a command is given. An error that cannot be reached makes for all the rounds,
 * and a small gap for polishing. */
static const struct kind {
    const char *name, *command, *options;
} KINDS[] = {
    {"infer", "infer --method vbpi", TRAINING},
    {"tables", "infer --method vbpi --density sbn", TRAINING},
    {"parsimony", "parsimony --method annealing", TRAINING},
    {"search", "parsimony --method search", "--hits 300 --starts 400 --ratchet 2 --max-trees 300"},
    {"collapsed", "infer",
     "--branch-hidden 8 --rounds 3 --se 1e-30 --gap 0.02 --fit-steps 150 --evidence-particles 50"},
    {"chains", "infer", "--branch-hidden 8 --time-limit 0.001 --evidence-particles 50"},
    {"parameters", "infer",
     "-m HKY+I+G4 --branch-hidden 8 --rounds 1 --se 1 --fit-steps 50 --evidence-particles 50"},
    {"average", "infer",
     "--model-average JC,K80,F81+I --branch-hidden 8 --rounds 1 --se 1 --fit-steps 50 "
     "--evidence-particles 50"},
};

static void place_open_for(place *p, const char *command)
{
    if (strcmp(command, "collapsed") == 0 || strcmp(command, "parameters") == 0 ||
        strcmp(command, "average") == 0)
        place_open_simulated(p);
    else if (strcmp(command, "chains") == 0 || strcmp(command, "search") == 0)
        place_open_diffuse(p);
    else
        place_open(p);
}

/* The command line of a small run, with extra arguments behind. */
static void arguments(const char *out[MAX_ARGUMENTS], const place *p, const char *command,
                      const char *extra)
{
    static char words[1024];
    int n = 0;
    const struct kind *kind = KINDS;
    while (strcmp(kind->name, command) != 0)
        kind++;
    const int has_steps = strcmp(kind->command, "infer") == 0 || strstr(extra, "--steps");
    const int trains = strcmp(command, "search") != 0;
    const int network = trains && strcmp(command, "tables") != 0;
    snprintf(words, sizeof words, "%s -s %s --prefix %s %s %s %s %s %s", kind->command,
             p->alignment, p->prefix, kind->options, network ? "--hidden 8 --heads 2" : "",
             trains ? "--evidence-repeats 3 --posterior-sample 50" : "",
             trains && !has_steps ? STEPS : "", extra);
    for (char *word = strtok(words, " "); word; word = strtok(NULL, " ")) {
        assert_true(n < MAX_ARGUMENTS - 1);
        out[n++] = word;
    }
    out[n] = NULL;
}

/* hook: what is asked of it through the environment (cli/test_hook.h), or NULL. */
static run_result execute(const place *p, const char *hook, const char *command, const char *extra)
{
    const char *list[MAX_ARGUMENTS];
    arguments(list, p, command, extra);
    return run_arguments(&(run_options){.environment = (const char *[]){hook, NULL}}, list);
}

static void expect_hooked(const place *p, const char *hook, const char *command, const char *extra,
                          int code, const char *words)
{
    run_result r = execute(p, hook, command, extra);
    check_run(&r, extra, code, NULL, words);
    run_free(&r);
}

static void expect(const place *p, const char *command, const char *extra, int code,
                   const char *words)
{
    expect_hooked(p, NULL, command, extra, code, words);
}

static pid_t start(const place *p, const char *command, const char *extra)
{
    const char *list[MAX_ARGUMENTS + 1] = {ART_PROGRAM};
    arguments(list + 1, p, command, extra);
    pid_t child = fork();
    if (child == 0) {
        int null = open("/dev/null", O_RDWR);
        dup2(null, 0);
        dup2(null, 1);
        dup2(null, 2);
        execv(ART_PROGRAM, (char *const *)(uintptr_t)list);
        _exit(127);
    }
    assert_true(child > 0);
    return child;
}

/* Exit code, or 128 + signal. */
static int finish(pid_t child)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static int has_file(const place *p, const char *suffix)
{
    char path[160];
    snprintf(path, sizeof path, "%s%s", p->prefix, suffix);
    return access(path, F_OK) == 0;
}

static void pause_for(double seconds)
{
    struct timespec time = {(time_t)seconds, (long)(1e9 * (seconds - (double)(time_t)seconds))};
    nanosleep(&time, NULL);
}

static void wait_for(const place *p, const char *suffix)
{
    for (int i = 0; i < LONGEST_WAIT && !has_file(p, suffix); i++)
        pause_for(0.001);
    if (!has_file(p, suffix))
        fail_msg("no %s%s", p->prefix, suffix);
}

static char *contents(const place *p, const char *suffix, size_t *length)
{
    char path[160];
    snprintf(path, sizeof path, "%s%s", p->prefix, suffix);
    FILE *file = fopen(path, "rb");
    if (!file)
        fail_msg("%s: %s", path, strerror(errno));
    char *text = malloc(1 << 22);
    assert_non_null(text);
    *length = fread(text, 1, (1 << 22) - 1, file);
    text[*length] = '\0';
    fclose(file);
    return text;
}

/* How many sessions the log tells of. */
static int sessions(const place *p)
{
    size_t n;
    int count = 0;
    if (!has_file(p, ".log"))
        return 0;
    char *text = contents(p, ".log", &n);
    for (const char *at = text; (at = strstr(at, "settings: ")); at++)
        count++;
    free(text);
    return count;
}

/* Starts a run and waits until it listens to signals. */
static pid_t start_listening(const place *p, const char *command, const char *extra)
{
    const int before = sessions(p);
    pid_t child = start(p, command, extra);
    for (int i = 0; i < LONGEST_WAIT && sessions(p) <= before; i++)
        pause_for(0.001);
    assert_true(sessions(p) > before);
    return child;
}

/* JSON text without the members that tell of time and memory and of file names. */
static char *without_times(const char *text)
{
    static const char *const gone[] = {"seconds", "steps_per_second", "peak_memory_bytes", "files"};
    json_t *object = json_loads(text, 0, NULL);
    assert_non_null(object);
    for (size_t i = 0; i < sizeof gone / sizeof gone[0]; i++)
        json_object_del(object, gone[i]);
    char *out = json_dumps(object, JSON_PRESERVE_ORDER);
    json_decref(object);
    return out;
}

static void same_metrics(const char *a, const char *b)
{
    for (int line = 1;; line++) {
        size_t n = strcspn(a, "\n"), m = strcspn(b, "\n");
        if (n == 0 || m == 0) {
            assert_true(n == m && line > 1); /* there is something to compare */
            return;
        }
        char *x = strndup(a, n), *y = strndup(b, m);
        char *p = without_times(x), *q = without_times(y);
        assert_string_equal(p, q);
        free(x);
        free(y);
        free(p);
        free(q);
        a += n + 1;
        b += m + 1;
    }
}

/* The same but for times, and in reports for the names of the folders, which are equally long. */
static void same_file(const place *a, const place *b, const char *suffix)
{
    size_t n, m;
    char *x = contents(a, suffix, &n), *y = contents(b, suffix, &m);
    const bool is_report = strncmp(suffix, ".report.", 8) == 0;
    for (char *at = y; is_report && (at = strstr(at, b->folder)); at++)
        memcpy(at, a->folder, strlen(a->folder));
    if (strcmp(suffix, ".metrics.jsonl") == 0)
        same_metrics(x, y);
    else if (strcmp(suffix, ".json") != 0 && (n != m || memcmp(x, y, n) != 0))
        fail_msg("%s differs", suffix);
    free(x);
    free(y);
}

/* Both runs have ended and left the same: all the files of which the results tell, and those. */
static void same_results(const place *a, const place *b)
{
    size_t n, m, i;
    json_t *path;
    char *x = contents(a, ".json", &n), *y = contents(b, ".json", &m);
    char *p = without_times(x), *q = without_times(y);
    assert_string_equal(p, q);
    json_t *results = json_loads(x, 0, NULL);
    const json_t *files = json_object_get(results, "files");
    assert_true(json_array_size(files) >= 5);
    json_array_foreach(files, i, path)
    {
        assert_memory_equal(json_string_value(path), a->prefix, strlen(a->prefix));
        same_file(a, b, json_string_value(path) + strlen(a->prefix));
    }
    json_decref(results);
    free(x);
    free(y);
    free(p);
    free(q);
}

static void any_number_of_threads(void **state)
{
    (void)state;
    static const struct {
        const char *command, *threads;
    } table[] = {
        {"tables", "-T 2"}, {"infer", "-T 2"},     {"infer", "-T 4"},      {"parsimony", "-T 2"},
        {"search", "-T 3"}, {"collapsed", "-T 3"}, {"parameters", "-T 2"}, {"average", "-T 2"},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        place one, more;
        place_open_for(&one, table[i].command);
        place_open_for(&more, table[i].command);
        expect(&one, table[i].command, "-T 1", 0, NULL);
        expect(&more, table[i].command, table[i].threads, 0, NULL);
        same_results(&one, &more);
        place_close(&one);
        place_close(&more);
    }
}

static void run_straight(place *p, const char *command)
{
    place_open_for(p, command);
    expect(p, command, "-T 1", 0, strcmp(command, "collapsed") == 0 ? "round 3" : NULL);
}

/* An integer of [1, most]. */
static int random_up_to(rng *r, int most)
{
    return 1 + (int)(most * rng_uniform(r));
}

/* The run is over, or goes on now; either way it leaves what the straight one left. */
static void ends_as(const place *straight, place *broken, const char *command)
{
    expect(broken, command, "-T 2", 0, has_file(broken, ".json") ? "already finished" : NULL);
    same_results(straight, broken);
    place_close(broken);
}

/* SIGKILL after so many pieces of work, on one thread and on two. Every sitting saves a checkpoint
 * (on SIGUSR1) before it dies, so each gets the run farther. */
static void check_kills(const char *command, int wanted, int most_pieces, uint64_t seed)
{
    place straight, broken;
    run_straight(&straight, command);
    rng r = rng_at(seed, RNG_TEST, 0, 0);
    int endings = 0;
    place_open_for(&broken, command);
    for (int kills = 0; kills < wanted;) {
        char hook[64];
        const int save = random_up_to(&r, most_pieces / 2);
        const int death = save + random_up_to(&r, most_pieces / 2);
        snprintf(hook, sizeof hook, "ART_TEST_SIGNALS=%d:%d %d:%d", SIGUSR1, save, SIGKILL, death);
        run_result result = execute(&broken, hook, command, kills % 2 ? "-T 1" : "-T 2");
        const int code = result.code;
        run_free(&result);
        if (code == 0) {
            same_results(&straight, &broken);
            place_close(&broken);
            place_open_for(&broken, command);
            endings++;
        } else {
            assert_int_equal(code, 128 + SIGKILL);
            assert_true(has_file(&broken, ".ckp.safetensors"));
            kills++;
        }
    }
    assert_true(endings > 0);
    ends_as(&straight, &broken, command);
    place_close(&straight);
}

static void killed_and_resumed(void **state)
{
    (void)state;
    check_kills("infer", 40, 200, 17);
}

/* The first pieces look for the support. */
static void tables_killed_and_resumed(void **state)
{
    (void)state;
    check_kills("tables", 20, 200, 26);
}

static void parsimony_killed_and_resumed(void **state)
{
    (void)state;
    check_kills("parsimony", 15, 200, 20);
}

static void search_killed_and_resumed(void **state)
{
    (void)state;
    check_kills("search", 20, 40, 25);
}

static void collapsed_killed_and_resumed(void **state)
{
    (void)state;
    check_kills("collapsed", 20, 800, 18);
}

static void chains_killed_and_resumed(void **state)
{
    (void)state;
    check_kills("chains", 6, 16, 24);
}

static void parameters_killed_and_resumed(void **state)
{
    (void)state;
    check_kills("parameters", 8, 1000, 25);
}

static void average_killed_and_resumed(void **state)
{
    (void)state;
    check_kills("average", 16, 120, 30);
}

/* SIGKILL at any instant, also between two pieces and while files are written. What such a run
 * leaves must be good for going on, wherever it was hit; where that is, is left to chance. */
static void check_random_kills(const char *command, int sittings, uint64_t seed)
{
    enum { LATEST = 400 }; /* milliseconds */
    place straight, broken;
    run_straight(&straight, command);
    rng r = rng_at(seed, RNG_TEST, 0, 0);
    place_open_for(&broken, command);
    for (int i = 0; i < sittings; i++) {
        pid_t child = start(&broken, command, "-T 2 --checkpoint-every 0.001");
        pause_for(0.001 * random_up_to(&r, LATEST));
        kill(child, SIGKILL);
        const int code = finish(child);
        if (code == 0) {
            ends_as(&straight, &broken, command);
            place_open_for(&broken, command);
        } else {
            assert_int_equal(code, 128 + SIGKILL);
        }
    }
    ends_as(&straight, &broken, command);
    place_close(&straight);
}

static void killed_at_any_instant(void **state)
{
    (void)state;
    check_random_kills("infer", 20, 21);
    check_random_kills("collapsed", 10, 22);
}

/* SIGKILL as soon as each of the files is there. */
static void killed_while_writing(void **state)
{
    (void)state;
    place straight;
    size_t n, i;
    json_t *path;
    run_straight(&straight, "infer");
    char *text = contents(&straight, ".json", &n);
    json_t *results = json_loads(text, 0, NULL);
    json_array_foreach(json_object_get(results, "files"), i, path)
    {
        place broken;
        place_open(&broken);
        pid_t child = start(&broken, "infer", "-T 1");
        wait_for(&broken, json_string_value(path) + strlen(straight.prefix));
        kill(child, SIGKILL);
        const int code = finish(child);
        assert_true(code == 0 || code == 128 + SIGKILL);
        ends_as(&straight, &broken, "infer");
    }
    assert_true(i >= 5);
    json_decref(results);
    free(text);
    place_close(&straight);
}

/* In training by signals and by a time limit, and once more when it draws for the evidence. */
static void asked_to_stop(void **state)
{
    (void)state;
    static const struct {
        const char *hook, *extra, *words;
    } table[] = {
        {"ART_TEST_SIGNALS=15:100", "-T 2", "stopped by a signal at step 100 of 300"},
        {"ART_TEST_SIGNALS=2:60", "-T 1", "resuming|stopped by a signal at step 160 of 300"},
        {"ART_TEST_SIGNALS=1:1", "-T 2", "resuming|stopped by a signal at step 161 of 300"},
        {"ART_TEST_PIECE_SECONDS=0.5", "-T 2 --time-limit 20",
         "resuming|the time limit is reached at step 201 of 300"},
        {"ART_TEST_SIGNALS=15:100", "-T 2", "resuming|stopped by a signal at step 300 of 300"},
    };
    place straight, stopped;
    run_straight(&straight, "infer");
    place_open(&stopped);
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        expect_hooked(&stopped, table[i].hook, "infer", table[i].extra, 75, table[i].words);
    expect(&stopped, "infer", "-T 2", 0, "resuming");
    same_results(&straight, &stopped);
    expect(&stopped, "infer", "-T 2", 0, "already finished");
    expect(&stopped, "infer", "-T 2 --steps 200", 3, "steps");
    place_close(&straight);
    place_close(&stopped);
}

/* The results are whole and the run is being closed: it is too late to stop. */
static void asked_to_stop_too_late(void **state)
{
    (void)state;
    rng r = rng_at(19, RNG_TEST, 0, 0);
    for (int i = 0; i < STOPS_TOO_LATE; i++) {
        place p;
        place_open(&p);
        pid_t child = start(&p, "infer", "-T 2 --steps 10");
        wait_for(&p, ".json");
        pause_for(0.001 * rng_uniform(&r));
        kill(child, SIGTERM);
        assert_int_equal(finish(child), 0);
        expect(&p, "infer", "-T 2 --steps 10", 0, "already finished");
        place_close(&p);
    }
}

/* From outside, of a run that would go on for days. */
static void asked_from_outside(void **state)
{
    (void)state;
    static const int SIGNALS[] = {SIGTERM, SIGINT, SIGHUP};
    for (size_t i = 0; i < sizeof SIGNALS / sizeof SIGNALS[0]; i++) {
        place p;
        place_open(&p);
        pid_t child = start_listening(&p, "infer", "-T 2 --steps 1000000000");
        assert_false(has_file(&p, ".ckp.safetensors"));
        kill(child, SIGUSR1);
        wait_for(&p, ".ckp.safetensors");
        assert_int_equal(waitpid(child, NULL, WNOHANG), 0); /* it goes on */
        kill(child, SIGNALS[i]);
        assert_int_equal(finish(child), 75);
        size_t n;
        char *log = contents(&p, ".log", &n);
        assert_non_null(strstr(log, "stopped by a signal at step "));
        free(log);
        place_close(&p);
    }
}

static void another_run_is_refused(void **state)
{
    (void)state;
    place p;
    place_open(&p);
    expect(&p, "infer", "--time-limit 0.01 --steps 5000", 75, NULL);
    expect(&p, "infer", "--steps 5000 --seed 2", 2, "seed was 1 and is now 2");
    expect(&p, "infer", "--steps 6000", 2, "steps was 5000 and is now 6000");
    expect(&p, "parsimony", "--steps 5000", 2, "another run");
    FILE *file = fopen(p.alignment, "a");
    assert_non_null(file);
    assert_true(fputs(">g\nTCCAAGGATCGATTCCAATTAGGCTT\n", file) >= 0 && fclose(file) == 0);
    expect(&p, "infer", "--steps 5000", 2, "another run");
    expect(&p, "infer", "--redo", 0, NULL);
    place_close(&p);
}

/* The truth that a fit is compared with is part of the run. */
static void another_truth_is_another_run(void **state)
{
    (void)state;
    static const struct {
        const char *truth, *more;
        int code;
        const char *words;
    } table[] = {
        {NULL, "", 0, "files written"},
        {NULL, "", 0, "already finished"},
        {"a", "", 3, "truth was not set"},
        {"a", "--redo", 0, "KL"},
        {"b", "", 3, "results of another run exist"},
    };
    place p;
    place_open(&p);
    for (int i = 0; i < 2; i++) {
        char path[96];
        snprintf(path, sizeof path, "%s/%c.nwk", p.folder, 'a' + i);
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        assert_true(fputs(i ? "((a,b),c,(d,e));" : "((a,c),b,(d,e));", file) >= 0 &&
                    fclose(file) == 0);
    }
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        char truth[128] = "", line[512];
        if (table[i].truth)
            snprintf(truth, sizeof truth, "--truth %s/%s.nwk", p.folder, table[i].truth);
        snprintf(line, sizeof line,
                 "fit %s/a.nwk --prefix %s --steps 20 --hidden 8 --heads 2 --report-every 10 "
                 "--truth-every 10 %s %s",
                 p.folder, p.prefix, truth, table[i].more);
        run_result r = run_line(NULL, line);
        check_run(&r, line, table[i].code, NULL, table[i].words);
        run_free(&r);
    }
    place_close(&p);
}

/* A sitting of a few steps that leaves a checkpoint. */
static void stop_early(const place *p, const char *extra)
{
    expect_hooked(p, "ART_TEST_SIGNALS=15:20", "infer", extra, 75, "stopped by a signal");
}

static void damaged_checkpoints(void **state)
{
    (void)state;
    place p, straight;
    char path[2][160];
    place_open(&p);
    place_open(&straight);
    expect(&straight, "infer", "", 0, NULL);
    snprintf(path[0], sizeof path[0], "%s.ckp.safetensors", p.prefix);
    snprintf(path[1], sizeof path[1], "%s.ckp.prev.safetensors", p.prefix);
    for (int i = 0; i < 2; i++) /* each leaves a checkpoint */
        stop_early(&p, "");
    assert_int_equal(truncate(path[0], 100), 0);
    expect(&p, "infer", "", 0, "previous checkpoint");
    same_results(&straight, &p);
    stop_early(&p, "--redo");
    stop_early(&p, "");
    assert_int_equal(truncate(path[0], 100), 0);
    assert_int_equal(truncate(path[1], 100), 0);
    expect(&p, "infer", "", 2, "--redo");
    place_close(&p);
    place_close(&straight);
}

/* A checkpoint with something that no part of the run knows. */
static void checkpoint_with_too_much(void **state)
{
    (void)state;
    place p;
    bool is_previous;
    double extra = 1;
    saved_state s;
    place_open(&p);
    stop_early(&p, "");
    check_status(checkpoint_read(&s, &is_previous, p.prefix, NULL));
    check_status(
        safetensors_add(&s.tensors, "something.else", TENSOR_F64, 1, (size_t[]){1}, &extra));
    check_status(checkpoint_write(&s, p.prefix, false, NULL));
    saved_state_free(&s);
    expect(&p, "infer", "", 2, "something.else|start the run again (--redo)");
    place_close(&p);
}

/* A limit that is over after every step: each session makes one, and the evidence, which is not cut
 * into pieces, comes to its end in a session of its own. */
static void short_limits_get_through(void **state)
{
    (void)state;
    place p;
    place_open(&p);
    for (int step = 1; step <= 3; step++)
        expect(&p, "infer", "--steps 3 --time-limit 1e-6", 75, "the time limit is reached");
    expect(&p, "infer", "--steps 3 --time-limit 1e-6", 0, "at step 3 of 3");
    place_close(&p);
}

/* No file may grow beyond half a checkpoint: as on a full device, writing fails half-way. Log and
 * metrics are shorter than that. The checkpoint that is there must survive. */
static void full_device_loses_nothing(void **state)
{
    (void)state;
    place p, straight;
    struct rlimit before, limit;
    size_t n, m;
    place_open(&p);
    place_open(&straight);
    expect(&straight, "infer", "", 0, NULL);
    stop_early(&p, "");
    char *saved = contents(&p, ".ckp.safetensors", &n);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = before;
    limit.rlim_cur = n / 2;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN); /* an error of write instead; inherited */
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    run_result r = execute(&p, NULL, "infer", "");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, handler);
    check_run(&r, "infer", 1, NULL, ".ckp.safetensors: error: cannot write: File too large");
    run_free(&r);
    char *after = contents(&p, ".ckp.safetensors", &m);
    assert_int_equal(n, m);
    assert_memory_equal(saved, after, n);
    free(saved);
    free(after);
    expect(&p, "infer", "", 0, "resuming");
    same_results(&straight, &p);
    place_close(&p);
    place_close(&straight);
}

/* Stopped again and again, until it is done: exploring, fitting, drawing, polishing, and in the
 * final answer. */
static void collapsed_asked_to_stop(void **state)
{
    (void)state;
    static const char *const WHERE[] = {"exploring", "fitting", "drawing", "polishing",
                                        "fitting branch lengths"};
    enum { PLACES = sizeof WHERE / sizeof WHERE[0] };
    bool seen[PLACES] = {false};
    place straight, stopped;
    run_straight(&straight, "collapsed");
    place_open_simulated(&stopped);
    rng r = rng_at(23, RNG_TEST, 0, 0);
    int code = 75, most_pieces = 6; /* drawing takes few of them */
    for (int sitting = 0; code != 0; sitting++) {
        char hook[64];
        snprintf(hook, sizeof hook, "ART_TEST_SIGNALS=15:%d", random_up_to(&r, most_pieces));
        run_result result = execute(&stopped, hook, "collapsed", sitting % 2 ? "-T 1" : "-T 2");
        code = result.code;
        const char *where = strstr(result.err, "stopped by a signal at ");
        if (code != 0)
            check_run(&result, hook, 75, NULL, sitting ? "resuming|stopped by" : "stopped by");
        for (int i = 0; where && i < PLACES; i++)
            seen[i] |= strstr(where, WHERE[i]) != NULL;
        if (where && strstr(where, "polishing"))
            most_pieces = 200;
        run_free(&result);
    }
    for (int i = 0; i < PLACES; i++)
        if (!seen[i])
            fail_msg("was not stopped while %s", WHERE[i]);
    same_results(&straight, &stopped);
    place_close(&stopped);
    place_close(&straight);
}

/* A time limit is when the answer is wanted: it ends the run well, in the middle of the search
 * (with no time at all), of the chains or the rounds, and of the last draws. What is not known then
 * is not said; what is said is right. */
static void collapsed_in_limited_time(void **state)
{
    (void)state;
    static const struct {
        double limit;     /* in pieces of work, of about 1600 */
        double tolerance; /* of the log evidence: what the fewer trees and draws allow */
        const char *words;
    } table[] = {
        {0.001, 3, "verdict: "},
        {300, 1, "verdict: |the time limit ended it"},
        {1000, 0.5, "verdict: |the time limit ended it"},
        {1e6, 0.2, "verdict: converged|standard error 0.0"},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        place p;
        size_t n;
        char limit[64];
        const bool is_cut = table[i].limit < 1e6;
        static const char HOOK[] = "ART_TEST_PIECE_SECONDS=1";
        snprintf(limit, sizeof limit, "-T 2 --time-limit %g", table[i].limit);
        place_open_simulated(&p);
        expect_hooked(&p, HOOK, "collapsed", limit, 0, table[i].words);
        char *text = contents(&p, ".json", &n);
        json_t *results = json_loads(text, 0, NULL);
        assert_non_null(results);
        check_near(json_number_value(json_object_get(results, "log_evidence")), -1087.63,
                   table[i].tolerance);
        check_near(json_number_value(json_object_get(results, "cut_by_time_limit")),
                   is_cut ? table[i].limit : 0, 0);
        const bool converged = json_is_true(json_object_get(results, "converged"));
        const json_t *se = json_object_get(results, "log_evidence_se");
        assert_true(converged || is_cut);
        assert_true(converged || json_array_size(json_object_get(results, "warnings")) > 0);
        assert_true(converged || json_is_null(se));
        if (converged && !json_is_null(se))
            check_near(json_number_value(json_object_get(results, "log_evidence")), -1087.63,
                       0.02 + 4 * json_number_value(se));
        json_decref(results);
        free(text);
        expect_hooked(&p, HOOK, "collapsed", limit, 0, "already finished");
        expect_hooked(&p, HOOK, "collapsed", "-T 1", 3, "time_limit was |and is now not set");
        char path[160];
        snprintf(path, sizeof path, "%s.trees", p.prefix);
        assert_int_equal(unlink(path), 0);
        expect_hooked(&p, HOOK, "collapsed", limit, 3, "run.trees is missing");
        place_close(&p);
    }
}

/* Cut by a time limit, then killed: that it was cut is not forgotten, though nothing limits the run
 * that goes on. */
static void collapsed_cut_and_killed(void **state)
{
    (void)state;
    place p;
    size_t n;
    char hook[64];
    place_open_simulated(&p);
    snprintf(hook, sizeof hook, "ART_TEST_SIGNALS=%d:1 %d:2", SIGUSR1, SIGKILL);
    run_result r = execute(&p, hook, "collapsed", "-T 1 --time-limit 0.001");
    assert_int_equal(r.code, 128 + SIGKILL);
    run_free(&r);
    assert_true(has_file(&p, ".ckp.safetensors"));
    expect(&p, "collapsed", "-T 1", 2, "time_limit was 0.001 and is now not set");
    expect(&p, "collapsed", "-T 1 --time-limit 0.001", 0, "resuming");
    char *text = contents(&p, ".json", &n);
    assert_non_null(strstr(text, "\"cut_by_time_limit\": 0.001"));
    free(text);
    place_close(&p);
}

#ifdef ART_SANITIZED
/* Whole runs take tens of times as long under sanitizers; the other build kills and stops them,
 * and what is saved and loaded is looked at by the tests of checkpoints and tasks. */
static void the_rest(void **state)
{
    (void)state;
    skip_because("left to the build without sanitizers");
}
#endif

int main(void)
{
#ifdef ART_SANITIZED
    const struct CMUnitTest some[] = {
        cmocka_unit_test(any_number_of_threads),
        cmocka_unit_test(asked_from_outside),
        cmocka_unit_test(the_rest),
    };
    return cmocka_run_group_tests_name("resume", some, NULL, NULL);
#endif
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_number_of_threads),
        cmocka_unit_test(killed_and_resumed),
        cmocka_unit_test(tables_killed_and_resumed),
        cmocka_unit_test(parsimony_killed_and_resumed),
        cmocka_unit_test(search_killed_and_resumed),
        cmocka_unit_test(killed_at_any_instant),
        cmocka_unit_test(killed_while_writing),
        cmocka_unit_test(asked_to_stop),
        cmocka_unit_test(asked_to_stop_too_late),
        cmocka_unit_test(asked_from_outside),
        cmocka_unit_test(another_run_is_refused),
        cmocka_unit_test(another_truth_is_another_run),
        cmocka_unit_test(damaged_checkpoints),
        cmocka_unit_test(checkpoint_with_too_much),
        cmocka_unit_test(short_limits_get_through),
        cmocka_unit_test(full_device_loses_nothing),
        cmocka_unit_test(collapsed_killed_and_resumed),
        cmocka_unit_test(chains_killed_and_resumed),
        cmocka_unit_test(parameters_killed_and_resumed),
        cmocka_unit_test(average_killed_and_resumed),
        cmocka_unit_test(collapsed_asked_to_stop),
        cmocka_unit_test(collapsed_in_limited_time),
        cmocka_unit_test(collapsed_cut_and_killed),
    };
    return cmocka_run_group_tests_name("resume", tests, NULL, NULL);
}

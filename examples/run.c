/* A long inference through the library: it can be stopped at any time (Ctrl-C) and goes on from its
 * last checkpoint when it is started again; it writes the files that the program writes.
 *     cc run.c $(pkg-config --cflags --libs artreeformer) && ./a.out primates.fasta primates 600 */
#include <artreeformer.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

static volatile sig_atomic_t is_interrupted;

static void interrupt(int signal)
{
    (void)signal;
    is_interrupted = 1;
}

/* Called after every piece of work, which takes about a second; context is the run. */
static int show(void *context, int64_t piece, double value)
{
    art_run_state now;
    (void)piece, (void)value;
    art_run_look(context, &now);
    fprintf(stderr, "\r%-24s %12.0f %-6s value %.4f %-40.40s", now.stage, now.done, now.unit,
            now.value, now.detail);
    return is_interrupted ? ART_STOP : ART_GO_ON;
}

/* What was found, on standard output and as files. */
static int tell(art_run *run, const char *prefix, art_messages *messages)
{
    art_result *found = NULL;
    art_evidence e;
    int converged = 0;
    int status = art_run_result(&found, run, messages);
    if (status == ART_OK)
        status = art_result_converged(&converged, found);
    if (status == ART_OK)
        status = art_result_evidence(&e, found);
    if (status == ART_OK) {
        printf("%s%s\n", converged ? "converged" : "NOT CONVERGED: ",
               converged ? "" : art_result_warning(found, 0));
        printf("log evidence %.10g, standard error %.3g\n", e.log_evidence, e.log_evidence_se);
        status = art_result_write(found, prefix, messages);
    }
    for (size_t i = 0; status == ART_OK && i < art_result_splits(found); i++) {
        char names[1024]; /* those that do not fit are cut */
        double probability, se, length;
        status = art_result_split(found, i, &probability, &se, &length, names, sizeof names, NULL);
        if (status == ART_ERR_LIMIT)
            status = ART_OK;
        if (status == ART_OK)
            printf("%.6f (%.2g) %s\n", probability, se, names);
    }
    art_result_free(found);
    return status;
}

int main(int argc, char **argv)
{
    art_messages *messages;
    art_alignment *data = NULL;
    art_run *run = NULL;
    art_infer_settings settings;
    if (argc < 3 || argc > 4 || art_messages_create(&messages) != ART_OK) {
        fprintf(stderr, "usage: run ALIGNMENT PREFIX [SECONDS]\n");
        return 2;
    }
    const art_drive_settings drive = {
        .prefix = argv[2],
        .time_limit = argc > 3 ? strtod(argv[3], NULL) : 0,
        .checkpoint_every = 60,
    };
    signal(SIGINT, interrupt);
    art_infer_defaults(&settings);
    settings.threads = 2;
    int status = art_alignment_read(&data, argv[1], messages);
    if (status == ART_OK)
        status = art_run_infer(&run, data, "JC", &settings, messages);
    if (status == ART_OK) {
        status = art_run_drive(run, &drive, show, run, messages);
        fprintf(stderr, "\n");
    }
    if (status == ART_OK)
        status = tell(run, argv[2], messages);
    for (size_t i = 0; i < art_messages_count(messages); i++)
        fprintf(stderr, "%s\n", art_messages_text(messages, i));
    if (status == ART_ERR_STOPPED)
        fprintf(stderr, "stopped -- the same command goes on from here\n");
    else if (status != ART_OK)
        fprintf(stderr, "%s\n", art_strerror(status));
    art_run_free(run);
    art_alignment_free(data);
    art_messages_free(messages);
    return status == ART_OK ? 0 : 1;
}

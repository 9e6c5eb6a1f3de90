/* check: validates an alignment and describes it. */
#include "artreeformer.h"
#include "base/format.h"
#include "cli/banner.h"
#include "collapsed/rounds.h"
#include "cli/dataset_options.h"
#include "cli/prior_options.h"
#include "density/model_file.h"
#include "jobs/estimate.h"
#include "cli/progress.h"
#include "cli/session.h"
#include "cli/training.h"
#include "seq/alignment_stats.h"
#include "subst/model_list.h"
#include "subst/prior_string.h"

#include <strings.h>

typedef struct settings {
    common_settings common;
    dataset_settings data;
    const char *model;
    prior_settings prior;
} settings;

static const settings DEFAULTS = {
    .common = COMMON_DEFAULTS, .model = "JC", .prior = {.rate = MODEL_PRIOR_RATE}};

static const option OPTIONS[] = {
    OPTION_HEADING("Input"),
    OPTION_INCLUDE(settings, data, DATASET_OPTIONS),
    OPTION_HEADING("Model"),
    OPTION_TEXT(settings, model, "-m --model", OPTIONAL, "MODEL",
                "substitution model of the run whose time is estimated, as for infer: one model, "
                "such as GTR+I+G4"),
    OPTION_INCLUDE(settings, prior, PARAMETER_PRIOR_OPTIONS),
    OPTION_INCLUDE(settings, prior, BRANCH_PRIOR_OPTIONS),
    OPTION_INCLUDE(settings, prior, PRIOR_RATE_OPTIONS),
    OPTION_HEADING("Running"),
    OPTION_INCLUDE(settings, common, COMMON_THREADS),
    OPTION_INCLUDE(settings, common, COMMON_MESSAGES),
    OPTION_END,
};

static void put_summary(output *o, const settings *set, const alignment *a,
                        const alignment_stats *stats)
{
    output_text(o, "alignment\t");
    output_field(o, set->data.alignment);
    output_printf(o, "\nformat\t%s\n", alignment_format_name(a->format));
    output_printf(o, "taxa\t%d\nsites\t%zu\npatterns\t%zu\n", a->n_taxa, a->n_sites, a->n_patterns);
    output_printf(o, "constant_sites\t%zu\n", stats->constant_sites);
    output_printf(o, "informative_sites\t%zu\n", stats->informative_sites);
    output_printf(o, "empty_sites\t%zu\n", stats->empty_sites);
    output_printf(o, "empty_sequences\t%d\n", stats->empty_sequences);
    output_printf(o, "identical_sequences\t%d\n", stats->identical_sequences);
}

static void put(output *o, const char *name, const char *value)
{
    output_printf(o, "%s\t%s\n", name, value);
}

static void put_vbpi(output *o, const estimate *e)
{
    char text[FORMAT_SIZE];
    put(o, "vbpi_memory", format_bytes(text, sizeof text, e->vbpi_bytes));
    put(o, "vbpi_time_per_step", format_seconds(text, sizeof text, e->vbpi_step_seconds));
    put(o, "vbpi_time_at_most",
        format_seconds(text, sizeof text, e->vbpi_step_seconds * VBPI_STEPS));
}

/* What `infer` will need with default settings, for the methods that can do it. */
static int put_estimate(session *s, const estimate_subject *subject)
{
    char text[FORMAT_SIZE];
    pool *threads = NULL;
    estimate e = {0};
    const estimate_sizes sizes = {artreeformer_config(DEFAULT_HIDDEN, DEFAULT_HEADS),
                                  lognormal_config(DEFAULT_BRANCH_HIDDEN), NETWORK_FIT_BATCH,
                                  VBPI_PARTICLES};
    int status = session_pool(s, &threads);
    if (status == ART_OK)
        status = estimate_infer(&e, subject, &sizes, threads);
    pool_free(threads);
    if (status != ART_OK)
        return status;
    if (subject->alignment->n_taxa <= collapsed_defaults(1).route.table_taxa) {
        put(&s->table, "infer_memory_if_concentrated",
            format_bytes(text, sizeof text, e.table_bytes));
        put(&s->table, "infer_table_memory_at_most",
            format_bytes(text, sizeof text, (double)DEFAULT_TABLE_MEMORY));
        put(&s->table, "infer_time_if_concentrated",
            format_seconds(text, sizeof text, e.table_seconds));
    }
    put(&s->table, "infer_memory_if_diffuse", format_bytes(text, sizeof text, e.chain_bytes));
    put(&s->table, "infer_time_if_diffuse", format_seconds(text, sizeof text, e.chains.seconds));
    put(&s->table, "infer_time_if_diffuse_at_most",
        format_seconds(text, sizeof text, e.chains.most_seconds));
    if (!subject->model->n_free)
        put_vbpi(&s->table, &e);
    return ART_OK;
}

static void put_sequences(output *o, const alignment *a, const alignment_stats *stats)
{
    output_text(o, "\nsequence\tgap_share\tidentical_to\n");
    for (int i = 0; i < a->n_taxa; i++) {
        int same = stats->same_as[i];
        output_field(o, a->name[i]);
        output_printf(o, "\t%.4f\t", stats->gap_share[i]);
        output_field(o, same >= 0 && same != i ? a->name[same] : "");
        output_text(o, "\n");
    }
}

/* How many models of a list are run, and so what they need, shows only in the run. */
static int read_model(free_model *model, session *s, const settings *set, const alignment *a)
{
    if (strcasecmp(set->model, MODEL_LIST_AUTO) == 0)
        return diag_error(&s->diag, ART_ERR_USAGE, (diag_place){0},
                          "-m auto: how many of its models matter, and so what infer needs for "
                          "them, shows only in the run -- check single models; the largest is "
                          "GTR+I+G4");
    return free_model_read(model, set->model, set->prior.parameters, a, &s->diag);
}

static int check(session *s, void *chosen)
{
    const settings *set = chosen;
    dataset data = {0};
    alignment_stats stats = {0};
    free_model model;
    branch_prior prior;
    double start = clock_seconds();
    int status = prior_settle(&prior, s, &set->prior);
    if (status == ART_OK)
        status = dataset_open(&data, &set->data, &s->diag);
    double seconds = clock_seconds() - start;
    if (status == ART_OK)
        status = read_model(&model, s, set, &data.alignment);
    if (status == ART_OK)
        status = alignment_stats_compute(&stats, &data.alignment);
    if (status != ART_OK)
        goto out;
    session_notes(s);
    char text[FORMAT_SIZE];
    put_summary(&s->table, set, &data.alignment, &stats);
    output_printf(&s->table, "loading_time\t%s\n", format_seconds(text, sizeof text, seconds));
    output_printf(&s->table, "loading_memory\t%s\n",
                  format_bytes(text, sizeof text, peak_memory()));
    status = put_estimate(s, &(estimate_subject){&data.alignment, &model, prior});
    put_sequences(&s->table, &data.alignment, &stats);
out:
    alignment_stats_free(&stats);
    dataset_free(&data);
    return status;
}

const command check_command = {
    .name = "check",
    .summary = "validate an alignment and describe it",
    .description =
        "Reads the alignment exactly as the other commands do and describes it: taxa, sites, site "
        "patterns, constant and parsimony-informative sites, empty sites and sequences, the time "
        "and memory that loading took, and for each sequence the fraction of gaps and unknown "
        "bases and the earlier sequence it is identical to. Errors and anomalies are reported with "
        "their line and column. The rows infer_* estimate what infer will need with its defaults, "
        "the model of -m and the priors, from real work that takes seconds, with hundreds of taxa "
        "up to a minute: the memory (without the table of topologies), and the time for both ways "
        "of working, because which one the data need becomes clear only during the run. "
        "Concentrated: a table of one or two thousand trees, or as many as there are where all are "
        "found at once, and a network. Diffuse: Markov chains that mix well; where they do not, it "
        "may take up to infer_time_if_diffuse_at_most. These are estimates: how many trees are "
        "plausible and how well chains mix depends on the data. infer --time-limit sets a limit. "
        "The rows vbpi_* are for infer --method vbpi; they are left out where the model has "
        "parameters to be estimated, which that method does not do.",
    .options = OPTIONS,
    .defaults = &DEFAULTS,
    .size = sizeof(settings),
    .run = check,
};

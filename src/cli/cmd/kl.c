/* kl: how far a model is from the true distribution of trees. */
#include "artreeformer.h"
#include "cli/model_input.h"
#include "cli/tree_input.h"
#include "train/divergence.h"

typedef struct mixture_settings {
    double network_share;
} mixture_settings;

typedef struct settings {
    common_settings common;
    model_settings model;
    option_files truth;
    option_files listed;
    mixture_settings mixture;
    tree_input_settings input;
} settings;

static const settings DEFAULTS = {
    .common = COMMON_DEFAULTS, .model = MODEL_DEFAULTS, .mixture = {.network_share = 0.001}};

static const option MIXTURE_OPTIONS[] = {
    OPTION_REAL(mixture_settings, network_share, "--network-share", OPTIONAL, OPTION_ABOVE_0, 1,
                "weight of the model in that mixture"),
    OPTION_END,
};

static const option OPTIONS[] = {
    OPTION_HEADING("Input"),
    OPTION_FILES(settings, truth, "--truth", REQUIRED,
                 "samples of trees: MrBayes .trprobs and .t, BEAST .trees, Newick lists; several "
                 "are averaged"),
    OPTION_FILES(settings, listed, "--listed", OPTIONAL,
                 "trees with probabilities, such as PREFIX.trprobs of infer: their distribution, "
                 "mixed with the model's, is evaluated"),
    OPTION_INCLUDE(settings, mixture, MIXTURE_OPTIONS),
    OPTION_INCLUDE(settings, input, TREE_INPUT_OPTIONS),
    OPTION_INCLUDE(settings, model, MODEL_OPTIONS),
    OPTION_INCLUDE(settings, model, MODEL_SPEED_OPTIONS),
    OPTION_INCLUDE(settings, common, COMMON_THREADS),
    OPTION_INCLUDE(settings, common, COMMON_MESSAGES),
    OPTION_END,
};

static int run(session *s, void *chosen)
{
    const settings *set = chosen;
    model_input in = {0};
    tree_set truth = {0}, listed = {0};
    const bool mixed = set->listed.count > 0;
    tree_options options;
    divergence result;
    int status = tree_input_options(&options, &set->input, TREE_TOPOLOGY, &s->diag);
    if (status == ART_OK && !mixed)
        status = options_refuse(&s->options, MIXTURE_OPTIONS, "needs --listed", &s->diag);
    options.taxa = &in.file.taxa;
    options.taxa_from = "the model";
    if (status == ART_OK)
        status = model_input_open(&in, s, &set->model);
    if (status == ART_OK)
        status = tree_set_read(&truth, NULL, set->truth.path, (size_t)set->truth.count, &options,
                               &s->diag);
    if (status == ART_OK && mixed)
        status = tree_set_read(&listed, NULL, set->listed.path, (size_t)set->listed.count, &options,
                               &s->diag);
    if (status == ART_OK)
        status = divergence_of_mixture(&result, in.file.trees, mixed ? &listed : NULL,
                                       set->mixture.network_share, truth.decision, truth.weight,
                                       truth.count, MODEL_BATCH);
    if (status != ART_OK)
        goto out;
    session_notes(s);
    output_printf(&s->table, "kl\t%.9g\n", result.kl);
    output_printf(&s->table, "kl_clipped\t%.9g\n", result.kl_clipped);
    output_printf(&s->table, "total_variation\t%.9g\n", result.total_variation);
    output_printf(&s->table, "trees\t%zu\n", truth.count);
    output_printf(&s->table, "mass_below_minus_50\t%.9g\n", result.far_mass);
    output_printf(&s->table, "trees_of_zero_probability\t%zu\n", result.zero_trees);
    output_printf(&s->table, "mass_of_zero_probability\t%.9g\n", result.zero_mass);
    output_printf(&s->table, "mass_below_2^-52\t%.9g\n", result.clipped_mass);
    if (mixed)
        output_printf(&s->table, "listed\t%zu\n", listed.count);
out:
    tree_set_free(&listed);
    tree_set_free(&truth);
    model_input_close(&in);
    return status;
}

const command kl_command = {
    .name = "kl",
    .summary = "divergence of a model from the true distribution of trees",
    .description =
        "Prints KL(truth || q), the total variation, the number of distinct topologies in the "
        "truth, and mass_below_minus_50, the fraction of the truth with log q below -50. The truth "
        "is the average of the distributions of the given files. Subsplit networks and conditional "
        "clade distributions give some trees probability 0: KL is then infinite (inf), unless the "
        "model was fitted with --smooth. kl_clipped counts such trees, and all with q below 2^-52, "
        "as if q were 2^-52, as published comparisons do; their number and their share of the "
        "truth are printed. With --listed, q is (1 - X) times "
        "the listed probabilities plus X times those of the model, where X is --network-share: the "
        "distribution that infer --method collapsed reports, extended to all trees.",
    .options = OPTIONS,
    .defaults = &DEFAULTS,
    .size = sizeof(settings),
    .run = run,
};

#include "collapsed/settings.h"

#include "branch/settings.h"
#include "results/verdict.h"

static const affordable_settings AFFORDABLE = {.taxa = 40, .least = 16};

static const table_settings TABLE = {.capacity = 1000000, .evicted_part = 8};

static const search_settings SEARCH = {
    .window = 15,
    .tolerance = BRANCH_TOLERANCE,
    .unexpanded_mass = 0.001,
    .small_search = 4000,
    .small_factor = 50,
    .unfitted = 0.001,
    .batch = 256,
    .least_batch = 32,
    .batch_part = 32,
    .least_neighbours = 256,
    .starts = 48,
    .found_scale = 10,
    .shake_pieces = 800,
    .least_pieces = 50,
    .shaken = 4,
    .rugged = 0.25,
    .most_shaken = 32,
    .more_starts = 16,
    .start_batch = 8,
    .idle_starts = 32,
    .new_mass = 0.001,
    .missing = 0.002,
    .basin_trees = 2000,
    .most_starts = 600,
    .widen = 100,
    .widen_batch = 8,
    .widen_share = 64,
    .radius = 10,
    .spr_margin = 3,
    .rough = 1,
    .start_length = 0.1,
};

static const blend_settings BLEND = {
    .least_scatter = 0.02,
    .farthest = 3,
    .doubt = 2,
    .borrowed = 20,
    .share = 0.99,
    .most = 300,
    .draws = 20,
    .tolerance = BRANCH_TOLERANCE,
};

static const network_fit_settings NETWORK_FIT = {
    .batch = NETWORK_FIT_BATCH,
    .rate = NETWORK_FIT_RATE,
    .steps = NETWORK_FIT_STEPS,
    .fit_kl = 0.4,
    .polish = 0,
    .polish_batch = 100,
    .targets = 50000,
    .look_every = 100,
    .gap_trees = 1024,
    .least_steps = 200,
    .fall = 0.95,
    .average = 0.99,
    .average_from = 100,
    .clip = 100,
    .growth = 10,
    .window = 300,
    .window_part = 5,
    .gain = 0.1,
    .decay = 0.6,
    .least_rate = 1e-5,
    .recent = 10,
    .steady = 1000,
    .lost = 2,
};

static const rounds_settings ROUNDS = {
    .expansions = 40000,
    .draws = 2048,
    .rounds = DEFAULT_ROUNDS,
    .new_mass = DEFAULT_NEW_MASS,
    .agree = 0.05,
    .agree_errors = 3,
};

static const sampler_settings SAMPLER = {
    .particles = EVALUATION_PARTICLES,
    .sample = EVALUATION_SAMPLE,
    .outside_draws = 16,
    .single_draws = 8,
    .light = 0.1,
    .judged = 0.1,
    .tolerance = BRANCH_TOLERANCE,
};

static const final_settings FINAL = {
    .passes = EVALUATION_REPEATS,
    .least_passes = 3,
    .doubtful_passes = 6,
    .cache = EVALUATION_CACHE,
    .flatness = 0.7,
    .least_network = 0.1,
    .most_network = 0.6,
    .length_steps = 1000,
    .length_batch = 64,
    .length_rate = 0.002,
    .length_decay = 0.5,
    .length_decay_parts = 8,
};

static const route_settings ROUTE = {
    .table_taxa = 110,
    .expansions = 6000,
    .open = 0.05,
    .starts = 8,
    .start_batch = 2,
    .search_share = 0.3,
    .window = 30,
};

static chain_stage_settings chain_stage_defaults(void)
{
    chain_stage_settings set = {
        .chain = chain_defaults(),
        .chains = 4,
        .whole_jumps = 50,
        .jump_taxa = 100,
        .rounds = {.first_blocks = 32,
                   .most = 9,
                   .most_blocks = 8192,
                   .shortest = 12,
                   .asdsf = 0.01,
                   .r_hat = 1.05},
        .whole_taxa = 100,
        .least_block = 3,
        .least_pilots = 32,
        .room = {.memory = (size_t)32 << 20, .least = 512, .most = 8192},
        .pilot_draws = 256,
        .pilot_tolerance = BRANCH_TOLERANCE,
        .planned_draws = 8000,
        .error = 0.014,
    };
    set.chain.jump = set.chain.redraw = 0.15;
    return set;
}

static joint_stage_settings joint_stage_defaults(void)
{
    return (joint_stage_settings){
        .chain = joint_defaults(),
        .taxa = 400,
        .trial_blocks = 8,
        .returned = 0.25,
        .returned_errors = 2,
        .pareto_k = VERDICT_PARETO_K,
        .chains = 4,
        .rounds = {.first_blocks = 64,
                   .most = 12,
                   .most_blocks = 65536,
                   .shortest = 12,
                   .asdsf = 0.01,
                   .r_hat = 1.05},
        .room = {.memory = (size_t)128 << 20, .least = 256, .most = 2048},
        .least_whole = 100,
        .most_whole = 400,
        .least_block = 16,
        .parameter_taxa = 8,
        .ess = 200,
    };
}

static const chain_answer_settings ANSWER = {
    .draws = 4000,
    .least_draws = 128,
    .passes = 50,
    .least_passes = 2,
    .hopeless = 10,
    .evaluated = 2000,
    .least_evaluated = 32,
    .pick_passes = 16,
    .trial_passes = 4,
    .length_draws = 48,
    .full_taxa = 200,
    .tolerance = BRANCH_TOLERANCE,
    .late_draws = 2,
    .late_lengths = 2,
};

static const mode_settings MODES = {
    .trees = 64,
    .least_trees = 32,
    .tolerance = BRANCH_TOLERANCE,
    .gap = 0.5,
    .left_out = 0.05,
};

static const chain_judgement JUDGEMENT = {
    .asdsf = 0.02,
    .r_hat = 1.1,
    .ess = 50,
    .overlap = 0.02,
    .missing = 0.01,
    .errors = 4,
    .least_difference = 0.01,
    .finite_variance = 0.5,
};

static const limit_settings LIMIT = {
    .answer_seconds = 60,
    .answer_least = 0.1,
    .answer_most = 0.3,
    .answer_measured = 0.5,
    .measured_trees = 16,
    .closing_seconds = 2,
    .closing_share = 0.03,
    .closing_taxon = 0.005,
    .taxon_share = 0.1,
};

collapsed_settings collapsed_defaults(uint64_t seed)
{
    collapsed_settings set = {
        .seed = seed,
        .error = DEFAULT_STANDARD_ERROR,
        .affordable = AFFORDABLE,
        .table = TABLE,
        .search = SEARCH,
        .blend = BLEND,
        .fit = NETWORK_FIT,
        .rounds = ROUNDS,
        .sampler = SAMPLER,
        .final = FINAL,
        .route = ROUTE,
        .chains = chain_stage_defaults(),
        .joint = joint_stage_defaults(),
        .answer = ANSWER,
        .modes = MODES,
        .judgement = JUDGEMENT,
        .limit = LIMIT,
    };
    set.search.climb = climb_defaults();
    return set;
}

#include "density/factory.h"

#include "artreeformer.h"
#include "density/artree/artree_model.h"
#include "density/artreeformer/artreeformer_model.h"
#include "density/clade/clade_model.h"
#include "density/counted/counted_model.h"
#include "density/counted/mixed_model.h"
#include "density/lognormal/branch_lognormal.h"
#include "density/sbn/sbn_model.h"
#include "density/support_model.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

/* Hidden sizes: the limit of the branch model, and far beyond what is useful. */
enum { HIDDEN_MAX = BRANCH_HIDDEN_MAX };

static int create_artreeformer(topology_model **out, const topology_config *config, int n_taxa,
                               pool *threads)
{
    return artreeformer_create(out, n_taxa, (int)topology_config_get(config, "hidden_dim"),
                               (int)topology_config_get(config, "n_head"), threads);
}

static int create_artree(topology_model **out, const topology_config *config, int n_taxa,
                         pool *threads)
{
    return artree_create(out, n_taxa, (int)topology_config_get(config, "hidden_dim"), threads);
}

/* A network with the counts of a sample and, if the configuration says so, the tables of a subsplit
 * network; it is taken over, whether or not this succeeds. */
static int add_counts(topology_model **out, topology_model *network, const topology_config *config,
                      pool *threads)
{
    const double share = topology_config_get(config, "tables");
    const topology_config inner =
        topology_config_default(topology_kind_find(TOPOLOGY_KINDS, "sbn"));
    topology_model *tables = NULL, *prior = network;
    int status =
        share > 0 ? topology_model_create(&tables, &inner, network->n_taxa, threads) : ART_OK;
    if (status) {
        topology_model_free(network);
        return status;
    }
    if (tables)
        status = mixed_model_create(&prior, network, tables, share);
    return status ? status
                  : counted_model_create(out, prior, topology_config_get(config, "strength"));
}

static int create_counted_artreeformer(topology_model **out, const topology_config *config,
                                       int n_taxa, pool *threads)
{
    topology_model *network;
    const topology_config inner = artreeformer_config(
        (int)topology_config_get(config, "hidden_dim"), (int)topology_config_get(config, "n_head"));
    int status = topology_model_create(&network, &inner, n_taxa, threads);
    return status ? status : add_counts(out, network, config, threads);
}

static int create_counted_artree(topology_model **out, const topology_config *config, int n_taxa,
                                 pool *threads)
{
    topology_model *network;
    const topology_config inner = artree_config((int)topology_config_get(config, "hidden_dim"));
    int status = topology_model_create(&network, &inner, n_taxa, threads);
    return status ? status : add_counts(out, network, config, threads);
}

static int create_sbn(topology_model **out, const topology_config *config, int n_taxa,
                      pool *threads)
{
    const sbn_settings settings = {.em = topology_config_get(config, "em") > 0,
                                   .alpha = topology_config_get(config, "alpha"),
                                   .gradients = topology_config_get(config, "gradients") > 0,
                                   .zero_start = topology_config_get(config, "zero_start") > 0,
                                   .smooth = topology_config_get(config, "smooth"),
                                   .floor = topology_config_get(config, "floor")};
    return sbn_model_create(out, n_taxa, &settings, threads);
}

static int create_ccd0(topology_model **out, const topology_config *config, int n_taxa,
                       pool *threads)
{
    const double smooth = topology_config_get(config, "smooth");
    return clade_model_create(out, n_taxa, CLADE_CCD0, smooth, threads);
}

static int create_ccd1(topology_model **out, const topology_config *config, int n_taxa,
                       pool *threads)
{
    const double smooth = topology_config_get(config, "smooth");
    return clade_model_create(out, n_taxa, CLADE_CCD1, smooth, threads);
}

static int create_ccd2(topology_model **out, const topology_config *config, int n_taxa,
                       pool *threads)
{
    const double smooth = topology_config_get(config, "smooth");
    return clade_model_create(out, n_taxa, CLADE_CCD2, smooth, threads);
}

static int create_lognormal(branch_model **out, const branch_config *config, int n_taxa,
                            pool *threads)
{
    return branch_lognormal_create(out, n_taxa, (int)branch_config_get(config, "branch_hidden_dim"),
                                   threads);
}

static int create_plain(branch_model **out, const branch_config *config, int n_taxa, pool *threads)
{
    return branch_lognormal_create_plain(
        out, n_taxa, (int)branch_config_get(config, "branch_hidden_dim"), threads);
}

#define ARTREEFORMER_SIZES                                                          \
    {.name = "hidden_dim",                                                          \
     .initial = DEFAULT_HIDDEN,                                                     \
     .least = 1,                                                                    \
     .most = HIDDEN_MAX,                                                            \
     .is_whole = true,                                                              \
     .tensor = "tree.mlp.0.weight"},                                                \
    {                                                                               \
        .name = "n_head", .initial = DEFAULT_HEADS, .least = 1, .most = HIDDEN_MAX, \
        .is_whole = true, .divides = "hidden_dim"                                   \
    }

#define ARTREE_SIZES                                                                     \
    {                                                                                    \
        .name = "hidden_dim", .initial = DEFAULT_HIDDEN, .least = 2, .most = HIDDEN_MAX, \
        .is_whole = true, .multiple = 2, /* sine and cosine of the time */               \
            .tensor = "tree.pooling_net.net.0.weight"                                    \
    }

#define COUNTED_KEYS                                                                  \
    {.name = "strength", .initial = COUNTED_STRENGTH, .least = 1e-6, .most = 1e6},    \
    {                                                                                 \
        .name = "tables", .initial = 0, .least = 0, .most = 0.99, .is_optional = true \
    }

static const config_key ARTREEFORMER_KEYS[] = {ARTREEFORMER_SIZES, {.name = NULL}};
static const config_key ARTREE_KEYS[] = {ARTREE_SIZES, {.name = NULL}};
static const config_key COUNTED_ARTREEFORMER_KEYS[] = {
    ARTREEFORMER_SIZES,
    COUNTED_KEYS,
    {.name = NULL},
};
static const config_key COUNTED_ARTREE_KEYS[] = {ARTREE_SIZES, COUNTED_KEYS, {.name = NULL}};

/* How a subsplit network was fitted: sbn_model.h. */
static const config_key SBN_KEYS[] = {
    {.name = "em", .initial = 1, .least = 0, .most = 1, .is_whole = true},
    {.name = "alpha", .initial = SBN_ALPHA, .least = 0, .most = 1e6},
    {.name = "gradients", .initial = 0, .least = 0, .most = 1, .is_whole = true},
    {.name = "zero_start", .initial = 0, .least = 0, .most = 1, .is_whole = true},
    SUPPORT_SMOOTH_KEY,
    {.name = "floor", .initial = 0, .least = 0, .most = 0.5, .is_optional = true},
    {.name = NULL},
};

static const config_key CLADE_KEYS[] = {
    SUPPORT_SMOOTH_KEY,
    {.name = NULL},
};

static const config_key LOGNORMAL_KEYS[] = {
    {.name = "branch_hidden_dim",
     .initial = DEFAULT_BRANCH_HIDDEN,
     .least = 1,
     .most = HIDDEN_MAX,
     .is_whole = true,
     .tensor = "branch.mean_std_net.net.0.weight"},
    {.name = NULL},
};

const topology_kind TOPOLOGY_KINDS[] = {
    {.name = "artreeformer", .keys = ARTREEFORMER_KEYS, .create = create_artreeformer},
    {.name = "artree", .keys = ARTREE_KEYS, .create = create_artree, .branches = "plain lognormal"},
    {.name = "sbn", .keys = SBN_KEYS, .create = create_sbn, .branches = "plain lognormal"},
    {.name = "ccd0", .keys = CLADE_KEYS, .create = create_ccd0},
    {.name = "ccd1", .keys = CLADE_KEYS, .create = create_ccd1},
    {.name = "ccd2", .keys = CLADE_KEYS, .create = create_ccd2},
    {.name = "artreeformer-counts",
     .keys = COUNTED_ARTREEFORMER_KEYS,
     .create = create_counted_artreeformer},
    {.name = "artree-counts",
     .keys = COUNTED_ARTREE_KEYS,
     .create = create_counted_artree,
     .branches = "plain lognormal"},
    {.name = NULL},
};

const branch_kind BRANCH_KINDS[] = {
    {"lognormal", LOGNORMAL_KEYS, create_lognormal},
    {"plain lognormal", LOGNORMAL_KEYS, create_plain},
    {.name = NULL},
};

topology_config artreeformer_config(int hidden, int heads)
{
    topology_config c = topology_config_default(topology_kind_find(TOPOLOGY_KINDS, "artreeformer"));
    int status = topology_config_set(&c, "hidden_dim", hidden);
    if (!status)
        status = topology_config_set(&c, "n_head", heads);
    assert(!status);
    return c;
}

topology_config artree_config(int hidden)
{
    topology_config c = topology_config_default(topology_kind_find(TOPOLOGY_KINDS, "artree"));
    int status = topology_config_set(&c, "hidden_dim", hidden);
    assert(!status);
    (void)status;
    return c;
}

topology_config sbn_config(double floor)
{
    topology_config c = topology_config_default(topology_kind_find(TOPOLOGY_KINDS, "sbn"));
    int status = topology_config_set(&c, "gradients", 1);
    if (!status)
        status = topology_config_set(&c, "zero_start", 1);
    if (!status)
        status = topology_config_set(&c, "floor", floor);
    assert(!status);
    (void)status;
    return c;
}

int counted_network(topology_model **out, topology_model *network, pool *threads)
{
    const topology_kind *kind =
        topology_kind_find(TOPOLOGY_KINDS, strcmp(topology_model_name(network), "artree") == 0
                                               ? "artree-counts"
                                               : "artreeformer-counts");
    topology_config config = topology_config_default(kind);
    const config_key *keys = network->config.kind->keys;
    for (int i = 0; i < config_count(keys); i++)
        topology_config_set(&config, keys[i].name, network->config.value[i]);
    topology_config_set(&config, "tables", MIXED_SHARE);
    int status = add_counts(out, network, &config, threads);
    if (!status)
        (*out)->config = config;
    return status;
}

const branch_kind *branch_kind_beside(const branch_kind *kinds, const topology_kind *trees)
{
    const branch_kind *kind = trees->branches ? branch_kind_find(kinds, trees->branches) : kinds;
    return kind ? kind : kinds;
}

branch_config branch_config_beside(const topology_kind *trees, int hidden)
{
    branch_config c = branch_config_default(branch_kind_beside(BRANCH_KINDS, trees));
    int status = branch_config_set(&c, "branch_hidden_dim", hidden);
    assert(!status);
    (void)status;
    return c;
}

branch_config lognormal_config(int hidden)
{
    return branch_config_beside(topology_kind_find(TOPOLOGY_KINDS, "artreeformer"), hidden);
}

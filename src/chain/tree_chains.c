#include "chain/tree_chains.h"

#include "artreeformer.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct tree_chains {
    const branch_posterior *problem;
    chains_settings set;
    pool *threads;
    int count;
    tree_chain **chain;   /* [count] */
    int *status;          /* [count] of the block */
    int32_t *temperature; /* [count] of each chain .. */
    int32_t *at;          /* [count] .. and the chain at each temperature of each ladder */
    double *length;       /* [E] for visits */
    int64_t blocks, exchanges, exchanged;
    const interrupt *stop;   /* of the blocks that run */
    const int32_t *decision; /* [count][N-3] and .. */
    const double *first;     /* .. [count][E] lengths of the chains that are started */
};

size_t tree_chains_memory(const branch_posterior *p, const chains_settings *set)
{
    return (size_t)(set->ladders * set->temperatures) * tree_chain_memory(p, &set->chain);
}

static double beta_of(const tree_chains *x, int32_t temperature)
{
    return 1 / (1 + x->set.heat * temperature);
}

static void set_temperature(tree_chains *x, int chain, int32_t temperature)
{
    x->temperature[chain] = temperature;
    x->at[chain / x->set.temperatures * x->set.temperatures + temperature] = chain;
    tree_chain_set_beta(x->chain[chain], beta_of(x, temperature));
}

int tree_chains_create(tree_chains **out, const branch_posterior *p, const chains_settings *set,
                       pool *threads)
{
    *out = NULL;
    if (set->ladders < 1 || set->temperatures < 1 || !(set->heat >= 0))
        return ART_ERR_USAGE;
    tree_chains *x = mem_zeros(1, sizeof *x);
    if (!x)
        return ART_ERR_NOMEM;
    const size_t count = (size_t)set->ladders * (size_t)set->temperatures;
    int status = ART_ERR_NOMEM;
    x->problem = p;
    x->set = *set;
    x->threads = threads;
    x->chain = mem_zeros(count, sizeof(tree_chain *));
    x->status = mem_zeros(count, sizeof *x->status);
    x->temperature = mem_zeros(count, sizeof *x->temperature);
    x->at = mem_zeros(count, sizeof *x->at);
    x->length = mem_zeros((size_t)p->n_edges, sizeof *x->length);
    if (!x->chain || !x->status || !x->temperature || !x->at || !x->length)
        goto out;
    for (; x->count < (int)count; x->count++)
        if ((status = tree_chain_create(&x->chain[x->count], p, &set->chain)))
            goto out;
    for (int i = 0; i < x->count; i++)
        set_temperature(x, i, i % set->temperatures);
    *out = x;
    return ART_OK;
out:
    tree_chains_free(x);
    return status;
}

void tree_chains_free(tree_chains *x)
{
    if (!x)
        return;
    for (int i = 0; i < x->count; i++)
        tree_chain_free(x->chain[i]);
    free(x->chain);
    free(x->status);
    free(x->temperature);
    free(x->at);
    free(x->length);
    free(x);
}

int tree_chains_start(tree_chains *x, int chain, const int32_t *decision, const double *length)
{
    const int status = tree_chain_start(x->chain[chain], decision, length);
    set_temperature(x, chain, x->temperature[chain]);
    return status;
}

static void start_chain(void *context, int task, int worker)
{
    tree_chains *x = context;
    const size_t i = (size_t)task;
    (void)worker;
    x->status[task] = tree_chains_start(x, task, x->decision + i * ((size_t)x->problem->n_taxa - 3),
                                        x->first + i * (size_t)x->problem->n_edges);
}

/* The first error of a chain. */
static int status_of_all(const tree_chains *x)
{
    for (int k = 0; k < x->count; k++)
        if (x->status[k])
            return x->status[k];
    return ART_OK;
}

int tree_chains_start_all(tree_chains *x, const int32_t *decision, const double *length)
{
    x->decision = decision;
    x->first = length;
    pool_run(x->threads, x->count, start_chain, x);
    return status_of_all(x);
}

static void run_block(void *context, int task, int worker)
{
    tree_chains *x = context;
    (void)worker;
    x->status[task] = tree_chain_block(x->chain[task], x->set.seed, (uint32_t)task, x->stop);
}

static void exchange(tree_chains *x, int ladder, int k)
{
    const int32_t *at = x->at + ladder * x->set.temperatures;
    const int32_t cold = at[k], hot = at[k + 1];
    rng r = rng_at(x->set.seed, RNG_CHAIN_SWAP, (uint32_t)x->blocks, (uint32_t)cold);
    const double ratio = (beta_of(x, k) - beta_of(x, k + 1)) *
                         (tree_chain_laplace(x->chain[hot]) - tree_chain_laplace(x->chain[cold]));
    x->exchanges++;
    if (log(rng_uniform(&r)) >= ratio)
        return;
    x->exchanged++;
    set_temperature(x, cold, k + 1);
    set_temperature(x, hot, k);
}

static int visit_all(tree_chains *x, chain_visit *visit, void *context)
{
    int stop = 0;
    for (int i = 0; i < x->count; i++) {
        const tree_chain *c = x->chain[x->at[i]];
        tree_chain_lengths(x->length, c);
        const chain_record state = {
            .ladder = i / x->set.temperatures,
            .chain = x->at[i],
            .temperature = i % x->set.temperatures,
            .block = x->blocks,
            .decision = tree_chain_decision(c),
            .length = x->length,
            .laplace = tree_chain_laplace(c),
        };
        stop |= visit(context, &state);
    }
    return stop ? ART_ERR_STOPPED : ART_OK;
}

int tree_chains_run(tree_chains *x, int64_t blocks, chain_visit *visit, void *context,
                    const interrupt *stop)
{
    x->stop = stop;
    for (int64_t i = 0; i < blocks; i++) {
        pool_run(x->threads, x->count, run_block, x);
        int status = status_of_all(x);
        if (status)
            return status;
        x->blocks++;
        for (int ladder = 0; ladder < x->set.ladders; ladder++)
            for (int k = (int)(x->blocks % 2); k + 1 < x->set.temperatures; k += 2)
                exchange(x, ladder, k);
        status = visit ? visit_all(x, visit, context) : ART_OK;
        if (status)
            return status;
    }
    return ART_OK;
}

int tree_chains_count(const tree_chains *x)
{
    return x->count;
}

const tree_chain *tree_chains_at(const tree_chains *x, int chain)
{
    return x->chain[chain];
}

int chains_state_init(chains_state *s, const branch_posterior *p, int n_chains)
{
    memset(s, 0, sizeof *s);
    s->n_chains = n_chains;
    s->chain = mem_zeros((size_t)n_chains, sizeof *s->chain);
    s->temperature = mem_zeros((size_t)n_chains, sizeof *s->temperature);
    int status = s->chain && s->temperature ? ART_OK : ART_ERR_NOMEM;
    for (int i = 0; i < n_chains && !status; i++)
        status = chain_state_init(&s->chain[i], p);
    if (status)
        chains_state_free(s);
    return status;
}

void chains_state_free(chains_state *s)
{
    for (int i = 0; s->chain && i < s->n_chains; i++)
        chain_state_free(&s->chain[i]);
    free(s->chain);
    free(s->temperature);
    memset(s, 0, sizeof *s);
}

void tree_chains_save(chains_state *out, const tree_chains *x)
{
    for (int i = 0; i < x->count; i++) {
        tree_chain_save(&out->chain[i], x->chain[i]);
        out->temperature[i] = x->temperature[i];
    }
    out->blocks = x->blocks;
    out->exchanges = x->exchanges;
    out->exchanged = x->exchanged;
}

/* Whether every ladder has every temperature once. */
static int are_temperatures(const tree_chains *x, const chains_state *in)
{
    for (int i = 0; i < x->count; i++) {
        const int first = i / x->set.temperatures * x->set.temperatures;
        if (in->temperature[i] < 0 || in->temperature[i] >= x->set.temperatures)
            return 0;
        for (int k = first; k < i; k++)
            if (in->temperature[k] == in->temperature[i])
                return 0;
    }
    return 1;
}

int tree_chains_load(tree_chains *x, const chains_state *in)
{
    if (in->n_chains != x->count || in->blocks < 0 || !are_temperatures(x, in))
        return ART_ERR_USAGE;
    for (int i = 0; i < x->count; i++) {
        const int status = tree_chain_load(x->chain[i], &in->chain[i]);
        if (status)
            return status;
        set_temperature(x, i, in->temperature[i]);
    }
    x->blocks = in->blocks;
    x->exchanges = in->exchanges;
    x->exchanged = in->exchanged;
    return ART_OK;
}

#include "api/objects.h"
#include "base/buffer.h"
#include "base/mem.h"
#include "train/divergence.h"
#include "density/tree_draws.h"
#include "tree/tree_write.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 1000 };

int art_trees_read(art_trees **out, const char *const *paths, size_t n_paths, double burnin,
                   const art_model *like, art_messages *m)
{
    *out = NULL;
    if (n_paths == 0 || !(burnin >= 0 && burnin < 1))
        return ART_ERR_USAGE;
    art_trees *t = mem_zeros(1, sizeof *t);
    if (!t)
        return ART_ERR_NOMEM;
    tree_options options = {.taxa = like ? &like->file.taxa : NULL,
                            .taxa_from = like ? "the model" : NULL,
                            .use = TREE_TOPOLOGY,
                            .burnin_share = burnin};
    int status = tree_set_read(&t->set, NULL, paths, n_paths, &options, messages_diag(m));
    if (status)
        art_trees_free(t);
    else
        *out = t;
    return status;
}

void art_trees_free(art_trees *t)
{
    if (t)
        tree_set_free(&t->set);
    free(t);
}

size_t art_trees_count(const art_trees *t)
{
    return t->set.count;
}

double art_trees_weight(const art_trees *t, size_t i)
{
    return i < t->set.count ? tree_set_probability(&t->set, i) : (double)NAN;
}

int text_hand_out(char *text, size_t size, size_t *length, const buffer *whole)
{
    int status = buffer_status(whole);
    if (status)
        return status;
    if (length)
        *length = whole->length;
    const size_t n = whole->length < size ? whole->length : size ? size - 1 : 0;
    if (size) {
        memcpy(text, whole->text, n);
        text[n] = '\0';
    }
    return whole->length < size ? ART_OK : ART_ERR_LIMIT;
}

int art_trees_newick(const art_trees *t, size_t i, char *text, size_t size, size_t *length)
{
    if (i >= t->set.count)
        return ART_ERR_USAGE;
    buffer whole;
    tree_writer writer = {0};
    buffer_init(&whole);
    int status = tree_writer_init(&writer, &t->set.taxa);
    if (!status)
        tree_write_newick(&whole, &writer, tree_set_decision(&t->set, i), NULL);
    if (!status)
        status = text_hand_out(text, size, length, &whole);
    tree_writer_free(&writer);
    buffer_free(&whole);
    return status;
}

int art_model_score(double *log_q, art_model *q, const art_trees *t)
{
    if (!taxa_equal(&q->file.taxa, &t->set.taxa))
        return ART_ERR_MISMATCH;
    int status = ART_OK;
    for (size_t first = 0; first < t->set.count && !status; first += BATCH) {
        size_t left = t->set.count - first;
        status =
            topology_model_score(q->file.trees, log_q + first, tree_set_decision(&t->set, first),
                                 left < BATCH ? (int)left : BATCH);
    }
    return status;
}

int art_model_divergence(double *kl, double *total_variation, art_model *q, const art_trees *t)
{
    if (!taxa_equal(&q->file.taxa, &t->set.taxa))
        return ART_ERR_MISMATCH;
    divergence found;
    int status = divergence_compute(&found, q->file.trees, t->set.decision, t->set.weight,
                                    t->set.count, BATCH);
    *kl = found.kl;
    *total_variation = found.total_variation;
    return status;
}

/* Draws so many trees in batches and hands each to take, until that returns another status than
 * ART_OK. */
typedef int take_draw(void *context, const tree_draws *d, int i, size_t number);

static int draw_trees(art_model *q, branch_model *branches, size_t n, uint64_t seed,
                      take_draw *take, void *context)
{
    if (n == 0 || n > UINT32_MAX)
        return ART_ERR_USAGE;
    tree_draws d;
    int status = tree_draws_init(&d, q->file.trees, branches, BATCH);
    for (size_t first = 0; first < n && !status; first += BATCH) {
        const int k = n - first < BATCH ? (int)(n - first) : BATCH;
        status = tree_draws_fill(&d, seed, (uint32_t)first, k);
        for (int i = 0; i < k && !status; i++)
            status = take(context, &d, i, first + (size_t)i);
    }
    tree_draws_free(&d);
    return status;
}

static int add_to_set(void *context, const tree_draws *d, int i, size_t number)
{
    (void)number;
    return tree_set_add(context, tree_draws_decision(d, i), 1);
}

int art_model_sample(art_trees **out, art_model *q, size_t n, uint64_t seed)
{
    *out = NULL;
    art_trees *t = mem_zeros(1, sizeof *t);
    int status = t ? tree_set_init(&t->set, &q->file.taxa) : ART_ERR_NOMEM;
    if (!status)
        status = draw_trees(q, NULL, n, seed, add_to_set, &t->set);
    if (!status)
        status = tree_set_normalise(&t->set);
    if (status)
        art_trees_free(t);
    else
        *out = t;
    return status;
}

/* The caller of art_model_draw. */
typedef struct receiver {
    art_draw *take;
    void *context;
    tree_writer writer;
    buffer text;
} receiver;

static int hand_over(void *context, const tree_draws *d, int i, size_t number)
{
    receiver *r = context;
    buffer_clear(&r->text);
    tree_write_newick(&r->text, &r->writer, tree_draws_decision(d, i), tree_draws_length(d, i));
    int status = buffer_status(&r->text);
    if (!status && r->take(r->context, number, r->text.text, d->log_q[i], d->log_b[i]) != ART_GO_ON)
        status = ART_ERR_STOPPED;
    return status;
}

int art_model_draw(art_model *q, size_t n, uint64_t seed, art_draw *take, void *context)
{
    receiver r = {.take = take, .context = context};
    buffer_init(&r.text);
    int status = tree_writer_init(&r.writer, &q->file.taxa);
    if (!status)
        status = draw_trees(q, q->file.branches, n, seed, hand_over, &r);
    tree_writer_free(&r.writer);
    buffer_free(&r.text);
    return status;
}

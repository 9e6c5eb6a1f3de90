#include "density/artreeformer/sums.h"

#include "density/artreeformer/network.h"

/* The members in the order of the block: X(member, numbers). */
#define SUMS_MEMBERS(X)        \
    X(leaf, n *d)              \
    X(mlp2, d *ld)             \
    X(mlp2_bias, d)            \
    X(mlp3, d)                 \
    X(mlp3_bias, d)            \
    X(edge, 2 * d * ld)        \
    X(graph, 2 * d * ld)       \
    X(moment, steps * 2 * d)   \
    X(read1, 2 * d)            \
    X(read1_bias, 2 * d)       \
    X(read3, 2 * d * ld2)      \
    X(read3_bias, 2 * d)       \
    X(read4, 2 * d)            \
    X(read4_bias, 2 * d)       \
    X(read6, ld2)              \
    X(read6_bias, 1)           \
    X(attention.value, d *ld)  \
    X(attention.value_bias, d) \
    X(attention.out, d *ld)    \
    X(attention.out_bias, d)   \
    X(attention.key, steps *heads *ld)

#define SUMS_LETTERS                                                                \
    const size_t n = (size_t)w->n_taxa, d = (size_t)w->d, heads = (size_t)w->heads; \
    const size_t steps = (size_t)w->steps, ld = (size_t)dense_round(w->d);          \
    const size_t ld2 = (size_t)dense_round(2 * w->d);

/* Every member begins on a cache line. */
static size_t rounded(size_t numbers)
{
    return (numbers + DENSE_GRAIN - 1) / DENSE_GRAIN * DENSE_GRAIN;
}

size_t sums_size(const panels *w)
{
    SUMS_LETTERS
    size_t total = 0;
#define SUMS_SIZE(member, numbers) total += rounded(numbers);
    SUMS_MEMBERS(SUMS_SIZE)
#undef SUMS_SIZE
    return total;
}

sums sums_of(real *block, const panels *w)
{
    SUMS_LETTERS
    sums s;
#define SUMS_VIEW(member, numbers) \
    s.member = block;              \
    block += rounded(numbers);
    SUMS_MEMBERS(SUMS_VIEW)
#undef SUMS_VIEW
    return s;
}

/* to [rows][step] += from [rows][ld], columns of each */
static void add_matrix(real *to, ptrdiff_t step, const real *from, int rows, int columns)
{
    const ptrdiff_t ld = dense_round(columns);
    for (ptrdiff_t i = 0; i < rows; i++)
        for (ptrdiff_t j = 0; j < columns; j++)
            to[i * step + j] += from[i * ld + j];
}

static void add_vector(real *to, const real *from, int n)
{
    for (int i = 0; i < n; i++)
        to[i] += from[i];
}

size_t sums_scratch(const panels *w)
{
    return (size_t)w->steps * 2 * (size_t)w->d;
}

/* shift = W_r r + (W b_t + bias): moment has the gradients of the bracket, which goes on to
 * the time embedding. */
static void finish_steps(params *p, const sums *s, const panels *w, real *dtime)
{
    const int d = w->d;
    linear_backward(dtime, params_grad(p, READ0_WEIGHT), params_grad(p, READ0_BIAS), s->moment,
                    w->time.out, params_value(p, READ0_WEIGHT), w->steps, 2 * d, 2 * d);
    time_embedding_backward(params_grad(p, TIME0_WEIGHT), params_grad(p, TIME0_BIAS),
                            params_grad(p, TIME2_WEIGHT), params_grad(p, TIME2_BIAS), dtime,
                            &w->time, params_value(p, TIME0_WEIGHT), params_value(p, TIME2_WEIGHT));
}

static void finish_leaves(params *p, const sums *s, const panels *w)
{
    const ptrdiff_t d = w->d, n_taxa = w->n_taxa;
    real *weight = params_grad(p, MLP0_WEIGHT), *bias = params_grad(p, MLP0_BIAS);
    for (ptrdiff_t i = 0; i < n_taxa; i++) {
        for (ptrdiff_t j = 0; j < d; j++) {
            weight[j * n_taxa + i] += s->leaf[i * d + j];
            bias[j] += s->leaf[i * d + j];
        }
    }
}

void sums_finish(params *p, const sums *s, const panels *w, real *scratch)
{
    const int d = w->d;
    finish_steps(p, s, w, scratch);
    finish_leaves(p, s, w);
    attention_finish(params_grad(p, MHA_IN_WEIGHT), params_grad(p, MHA_IN_BIAS),
                     params_grad(p, MHA_OUT_WEIGHT), params_grad(p, MHA_OUT_BIAS), &s->attention,
                     &w->attention, params_value(p, MHA_IN_WEIGHT), scratch);
    add_matrix(params_grad(p, MLP2_WEIGHT), d, s->mlp2, d, d);
    add_vector(params_grad(p, MLP2_BIAS), s->mlp2_bias, d);
    add_vector(params_grad(p, MLP3_WEIGHT), s->mlp3, d);
    add_vector(params_grad(p, MLP3_BIAS), s->mlp3_bias, d);
    add_matrix(params_grad(p, READ0_WEIGHT), 2 * d, s->graph, 2 * d, d);
    add_matrix(params_grad(p, READ0_WEIGHT) + d, 2 * d, s->edge, 2 * d, d);
    add_vector(params_grad(p, READ1_WEIGHT), s->read1, 2 * d);
    add_vector(params_grad(p, READ1_BIAS), s->read1_bias, 2 * d);
    add_matrix(params_grad(p, READ3_WEIGHT), 2 * d, s->read3, 2 * d, 2 * d);
    add_vector(params_grad(p, READ3_BIAS), s->read3_bias, 2 * d);
    add_vector(params_grad(p, READ4_WEIGHT), s->read4, 2 * d);
    add_vector(params_grad(p, READ4_BIAS), s->read4_bias, 2 * d);
    add_vector(params_grad(p, READ6_WEIGHT), s->read6, 2 * d);
    add_vector(params_grad(p, READ6_BIAS), s->read6_bias, 1);
}

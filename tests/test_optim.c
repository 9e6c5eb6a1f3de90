#include "support/check.h"
#include "support/memory.h"
#include "support/state.h"

#include "artreeformer.h"
#include "base/rng.h"
#include "nn/optim.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Sizes around the chunk and the cache line; total is a few chunks. */
static void build(params *p)
{
    check_status(params_add(p, "a", 101, 203));
    check_status(params_add(p, "b", 7, 0));
    check_status(params_add(p, "c", 1, 0));
    check_status(params_alloc(p));
    for (int i = 0; i < p->count; i++)
        for (size_t j = 0; j < p->entry[i].size; j++) {
            rng r = rng_at(3, RNG_TEST, (uint32_t)i, (uint32_t)j);
            params_value(p, i)[j] = (real)rng_normal(&r);
        }
}

static void set_grad(params *p, uint32_t step)
{
    for (int i = 0; i < p->count; i++)
        for (size_t j = 0; j < p->entry[i].size; j++) {
            rng r = rng_at(4, RNG_TEST, step, (uint32_t)(p->entry[i].offset + j));
            params_grad(p, i)[j] = (real)(rng_normal(&r) * exp(3 * rng_normal(&r)));
        }
}

/* Float rounding adds up over the steps; in double only the order of operations differs. */
static const double TOLERANCE = REAL_IS_DOUBLE ? 1e-13 : 2e-5;

/* Adam by the book, one number at a time, in double. */
static void check_definition(bool nesterov)
{
    enum { STEPS = 25 };
    params p = {0};
    build(&p);
    optim o;
    optim_settings s = optim_defaults(0.01);
    s.every = 10;
    s.average = 0.9;
    s.average_at = 5;
    s.nesterov = nesterov;
    check_status(optim_init(&o, &p, s, NULL));
    double *x = calloc(p.total, sizeof *x), *m = calloc(p.total, sizeof *m);
    double *v = calloc(p.total, sizeof *v), *a = calloc(p.total, sizeof *a);
    for (size_t i = 0; i < p.total; i++)
        x[i] = (double)p.value[i];
    for (int t = 1; t <= STEPS; t++) {
        set_grad(&p, (uint32_t)t);
        double norm, expected = 0, scale;
        check_status(optim_norm(&o, &norm));
        for (size_t i = 0; i < p.total; i++)
            expected += (double)p.grad[i] * (double)p.grad[i];
        check_close(norm, sqrt(expected), 1e-13); /* both sums in double */
        scale = optim_clip(norm, t % 2 ? 0 : norm / 2);
        check_near(scale, t % 2 ? 1 : 0.5, 1e-15);
        optim_update(&o, scale);
        double rate = t <= 10 ? 0.01 : t <= 20 ? 0.0075 : 0.005625;
        for (size_t i = 0; i < p.total; i++) {
            double g = scale * (double)p.grad[i];
            m[i] = 0.9 * m[i] + 0.1 * g;
            v[i] = 0.999 * v[i] + 0.001 * g * g;
            double ahead = nesterov ? 0.9 * m[i] + 0.1 * g : m[i];
            double mhat = ahead / (1 - pow(0.9, t)), vhat = v[i] / (1 - pow(0.999, t));
            x[i] -= rate * mhat / (sqrt(vhat) + 1e-8);
            a[i] = t <= 5 ? x[i] : 0.9 * a[i] + 0.1 * x[i];
        }
    }
    assert_int_equal(o.step, STEPS);
    for (size_t i = 0; i < p.total; i++) {
        check_near((double)p.value[i], x[i], TOLERANCE);
        check_near((double)o.average[i], a[i], TOLERANCE);
    }
    free(x);
    free(m);
    free(v);
    free(a);
    optim_free(&o);
    params_free(&p);
}

static void agrees_with_the_definition(void **state)
{
    (void)state;
    check_definition(false);
    check_definition(true);
}

static void the_first_step_has_the_size_of_the_rate(void **state)
{
    (void)state;
    params p = {0};
    check_status(params_add(&p, "x", 2, 0));
    check_status(params_alloc(&p));
    optim o;
    check_status(optim_init(&o, &p, optim_defaults(0.5), NULL));
    p.grad[0] = 3;
    p.grad[1] = (real)-0.001;
    optim_update(&o, 1);
    /* mean / sqrt(square) is the sign of g, up to eps / |g| and rounding */
    check_near((double)p.value[0], -0.5, 1e-5);
    check_near((double)p.value[1], 0.5, 1e-5);
    assert_true(p.value[2] == 0); /* padding */
    optim_free(&o);
    params_free(&p);
}

static void rates_decay_in_steps(void **state)
{
    (void)state;
    optim_settings s = optim_defaults(1e-3);
    check_close(optim_rate(&s, 0), 1e-3, 1e-15);
    check_close(optim_rate(&s, 19999), 1e-3, 1e-15);
    check_close(optim_rate(&s, 20000), 7.5e-4, 1e-15);
    check_close(optim_rate(&s, 399999), 1e-3 * pow(0.75, 19), 1e-14);
    s.every = 0;
    check_close(optim_rate(&s, 399999), 1e-3, 1e-15);
}

static void gradients_that_are_not_numbers_are_seen(void **state)
{
    (void)state;
    params p = {0};
    build(&p);
    optim o;
    double norm;
    check_status(optim_init(&o, &p, optim_defaults(0.5), NULL));
    static const double bad[] = {(double)NAN, HUGE_VAL, -HUGE_VAL, REAL_IS_DOUBLE ? 1e160 : 1e19};
    for (int i = 0; i < p.count; i++)
        for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
            set_grad(&p, 1);
            check_status(optim_norm(&o, &norm));
            params_grad(&p, i)[p.entry[i].size - 1] = (real)bad[k];
            assert_int_equal(optim_norm(&o, &norm), ART_ERR_NUMERIC);
        }
    optim_free(&o);
    params_free(&p);
}

static void fields(optim *o, saved_state *s)
{
    const size_t before = state_group(s, "optim");
    optim_fields(o, s);
    state_group_end(s, before);
    params_fields(o->p, o->p->value, s);
    check_status(s->status);
}

/* Runs steps; the state goes to bytes. first > 0 continues from the bytes of before. */
static void run(params *p, int threads, uint32_t first, uint32_t last, void **bytes, size_t *n)
{
    pool *team;
    optim o;
    optim_settings settings = optim_defaults(0.01);
    settings.average = 0.9;
    check_status(pool_create(&team, threads));
    check_status(optim_init(&o, p, settings, team));
    saved_state s = {0};
    if (first) {
        safetensors tensors = {0};
        check_status(safetensors_parse(&tensors, *bytes, *n, "state", NULL));
        check_status(saved_state_from(&s, &tensors, "state", NULL));
        fields(&o, &s);
        check_status(saved_state_end(&s));
        saved_state_free(&s);
        free(*bytes);
    }
    for (uint32_t t = first; t < last; t++) {
        double norm;
        set_grad(p, t);
        check_status(optim_norm(&o, &norm));
        optim_update(&o, optim_clip(norm, 10));
    }
    fields(&o, &s);
    check_status(safetensors_format(&s.tensors, bytes, n, "state", NULL));
    saved_state_free(&s);
    optim_free(&o);
    pool_free(team);
}

static void bits_do_not_depend_on_threads_or_on_a_stop(void **state)
{
    (void)state;
    void *one, *other;
    size_t n_one, n_other;
    params p = {0};
    build(&p);
    run(&p, 1, 0, 6, &one, &n_one);
    params_free(&p);
    for (int threads = 1; threads <= 8; threads *= 2) {
        build(&p);
        run(&p, threads, 0, 3, &other, &n_other);
        params_free(&p);
        build(&p);
        run(&p, threads, 3, 6, &other, &n_other);
        params_free(&p);
        assert_int_equal(n_one, n_other);
        assert_memory_equal(one, other, n_one);
        free(other);
    }
    free(one);
}

static void a_foreign_state_is_refused(void **state)
{
    (void)state;
    params p = {0};
    build(&p);
    optim o;
    diag d;
    diag_init(&d);
    check_status(optim_init(&o, &p, optim_defaults(0.5), NULL));
    saved_state s = {0}, copy;
    check_status(optim_fields(&o, &s));
    state_turn(&s, &d);
    state_damaged(&copy, &s, "step", 0, -1);
    assert_int_equal(optim_fields(&o, &copy), ART_ERR_MISMATCH);
    saved_state_free(&copy);
    for (size_t i = 0; i < s.tensors.count; i++) {
        state_without(&copy, &s, s.tensors.tensor[i].name);
        assert_int_equal(optim_fields(&o, &copy), ART_ERR_MISMATCH);
        saved_state_free(&copy);
    }
    assert_int_equal(o.step, 0);
    assert_int_equal(d.errors, 1 + s.tensors.count); /* each says it once */
    diag_free(&d);
    saved_state_free(&s);
    optim_free(&o);
    params_free(&p);
}

static void memory_is_needed_once(void **state)
{
    (void)state;
    params p = {0};
    build(&p);
    optim_settings settings = optim_defaults(0.5);
    settings.average = 0.9;
    optim o;
    double norm;
    for (long k = 1; k <= 4; k++) {
        memory_fail_at(k);
        assert_int_equal(optim_init(&o, &p, settings, NULL), ART_ERR_NOMEM);
    }
    memory_fail_at(0);
    check_status(optim_init(&o, &p, settings, NULL));
    long before = memory_count();
    set_grad(&p, 1);
    check_status(optim_norm(&o, &norm));
    optim_update(&o, 1);
    assert_int_equal(memory_count(), before);
    optim_free(&o);
    params_free(&p);
}

/* The rate of the last steps falls to 0, in addition to the decay. */
static void cooling(void **state)
{
    (void)state;
    optim_settings s = optim_defaults(0.01);
    s.every = 60;
    s.decay = 0.5;
    s.steps = 100;
    s.cooling = 50;
    check_near(optim_rate(&s, 0), 0.01, 1e-17);
    check_near(optim_rate(&s, 50), 0.01, 1e-17);
    check_near(optim_rate(&s, 55), 0.01 * 45 / 50, 1e-17);
    check_near(optim_rate(&s, 75), 0.005 * 25 / 50, 1e-17);
    check_near(optim_rate(&s, 99), 0.005 / 50, 1e-17);
    check_near(optim_rate(&s, 101), 0, 0);
    s.cooling = 0;
    check_near(optim_rate(&s, 99), 0.005, 1e-17);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cooling),
        cmocka_unit_test(agrees_with_the_definition),
        cmocka_unit_test(the_first_step_has_the_size_of_the_rate),
        cmocka_unit_test(rates_decay_in_steps),
        cmocka_unit_test(gradients_that_are_not_numbers_are_seen),
        cmocka_unit_test(bits_do_not_depend_on_threads_or_on_a_stop),
        cmocka_unit_test(a_foreign_state_is_refused),
        cmocka_unit_test(memory_is_needed_once),
    };
    return cmocka_run_group_tests_name("optim", tests, NULL, NULL);
}

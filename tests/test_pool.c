#include "support/check.h"

#include "base/pool.h"

typedef struct sums {
    int done[1000];
    int worker_out_of_range;
    int n_threads;
} sums;

static void mark(void *context, int task, int worker)
{
    sums *s = context;
    s->done[task]++;
    if (worker < 0 || worker >= s->n_threads)
        s->worker_out_of_range = 1;
}

static void every_task_runs_once(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 8; threads *= 2) {
        pool *p;
        check_status(pool_create(&p, threads));
        assert_int_equal(pool_threads(p), threads);
        for (int round = 0; round < 2000; round++) {
            sums s = {.n_threads = threads};
            int n = round % 100;
            pool_run(p, n, mark, &s);
            for (int i = 0; i < 1000; i++)
                assert_int_equal(s.done[i], i < n);
            assert_false(s.worker_out_of_range);
        }
        pool_free(p);
    }
    sums s = {.n_threads = 1};
    pool_run(NULL, 3, mark, &s);
    assert_int_equal(s.done[0] + s.done[1] + s.done[2], 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_task_runs_once)};
    return cmocka_run_group_tests_name("pool", tests, NULL, NULL);
}

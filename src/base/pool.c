/* Workers spin briefly for the next job and then sleep: the parallel sections of a training
 * step follow each other within microseconds, but an idle program must cost nothing. */
#include "base/pool.h"

#include "artreeformer.h"
#include "base/mem.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { SPINS = 2000 };

typedef struct worker {
    pool *owner;
    pthread_t thread;
    int index;
} worker;

struct pool {
    worker *workers; /* [n_threads]; entry 0 is the calling thread */
    int n_threads;
    int n_started;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    pthread_cond_t done;
    atomic_uint job; /* number of the current job */
    atomic_int next; /* next task */
    atomic_int busy; /* workers that have not finished the current job */
    atomic_bool closing;
    int n_tasks;
    pool_task *task;
    void *context;
};

static inline void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static void work(pool *p, int index)
{
    for (;;) {
        int task = atomic_fetch_add_explicit(&p->next, 1, memory_order_relaxed);
        if (task >= p->n_tasks)
            return;
        p->task(p->context, task, index);
    }
}

/* Waits for a job other than `seen`; false when the pool closes. */
static int wait_for_job(pool *p, unsigned seen)
{
    for (int i = 0; i < SPINS; i++) {
        if (atomic_load_explicit(&p->job, memory_order_acquire) != seen)
            return !atomic_load(&p->closing);
        relax();
    }
    pthread_mutex_lock(&p->lock);
    while (atomic_load(&p->job) == seen)
        pthread_cond_wait(&p->wake, &p->lock);
    pthread_mutex_unlock(&p->lock);
    return !atomic_load(&p->closing);
}

static void *worker_main(void *argument)
{
    worker *self = argument;
    pool *p = self->owner;
    for (unsigned seen = 0; wait_for_job(p, seen);) {
        seen = atomic_load(&p->job);
        work(p, self->index);
        if (atomic_fetch_sub_explicit(&p->busy, 1, memory_order_acq_rel) == 1) {
            pthread_mutex_lock(&p->lock);
            pthread_cond_signal(&p->done);
            pthread_mutex_unlock(&p->lock);
        }
    }
    return NULL;
}

static void start_job(pool *p)
{
    pthread_mutex_lock(&p->lock);
    atomic_fetch_add(&p->job, 1);
    pthread_cond_broadcast(&p->wake);
    pthread_mutex_unlock(&p->lock);
}

int pool_create(pool **out, int n_threads)
{
    *out = NULL;
    pool *p = mem_zeros(1, sizeof *p);
    if (!p)
        return ART_ERR_NOMEM;
    p->n_threads = n_threads;
    p->n_started = 1;
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->wake, NULL);
    pthread_cond_init(&p->done, NULL);
    p->workers = mem_zeros((size_t)n_threads, sizeof *p->workers);
    if (!p->workers) {
        pool_free(p);
        return ART_ERR_NOMEM;
    }
    for (int i = 1; i < n_threads; i++) {
        p->workers[i] = (worker){.owner = p, .index = i};
        if (pthread_create(&p->workers[i].thread, NULL, worker_main, &p->workers[i]) != 0) {
            pool_free(p);
            return ART_ERR_NOMEM;
        }
        p->n_started++;
    }
    *out = p;
    return ART_OK;
}

void pool_free(pool *p)
{
    if (!p)
        return;
    atomic_store(&p->closing, 1);
    start_job(p);
    for (int i = 1; i < p->n_started; i++)
        pthread_join(p->workers[i].thread, NULL);
    pthread_mutex_destroy(&p->lock);
    pthread_cond_destroy(&p->wake);
    pthread_cond_destroy(&p->done);
    free(p->workers);
    free(p);
}

int pool_threads(const pool *p)
{
    return p ? p->n_threads : 1;
}

void pool_run(pool *p, int n_tasks, pool_task *task, void *context)
{
    if (!p || p->n_threads == 1 || n_tasks <= 1) {
        for (int i = 0; i < n_tasks; i++)
            task(context, i, 0);
        return;
    }
    p->n_tasks = n_tasks;
    p->task = task;
    p->context = context;
    atomic_store(&p->next, 0);
    atomic_store(&p->busy, p->n_threads - 1);
    start_job(p);
    work(p, 0);
    for (int i = 0; i < SPINS; i++) {
        if (atomic_load_explicit(&p->busy, memory_order_acquire) == 0)
            return;
        relax();
    }
    pthread_mutex_lock(&p->lock);
    while (atomic_load(&p->busy) != 0)
        pthread_cond_wait(&p->done, &p->lock);
    pthread_mutex_unlock(&p->lock);
}

/* pool.h: a fixed team of threads that runs numbered tasks.
 *
 * The calling thread is one of the team. Tasks are assigned by a counter, so it is not fixed which
 * worker runs which task: a task may write only data that belong to its number, and reductions are
 * done afterwards in the order of the tasks. Then the result does not depend on the number of
 * threads. */
#ifndef BASE_POOL_H
#define BASE_POOL_H

typedef struct pool pool;

/* task is 0..n_tasks-1; worker is 0..pool_threads-1, for scratch memory. */
typedef void pool_task(void *context, int task, int worker);

/* n_threads >= 1. On success *p is a pool to be freed with pool_free. */
int pool_create(pool **p, int n_threads);
void pool_free(pool *p); /* NULL is fine */

/* 1 for a NULL pool. */
int pool_threads(const pool *p);

/* Runs all the tasks and returns when all are done. With a NULL pool the calling thread runs them
 * in order. Not reentrant: a task may not call pool_run on its own pool. */
void pool_run(pool *p, int n_tasks, pool_task *task, void *context);

#endif

#include "timing/scaling.h"

#include "artreeformer.h"

const int SCALING_TAXA[SCALING_SIZES] = {25, 35, 50, 70, 100, 140, 200};

static int measure_size(bench_result *out, session *s, const workbench_plan *plan, int threads,
                        int repeats, double limit)
{
    workbench w;
    sgemm_bench sgemm = {0};
    int status = workbench_open(&w, s, plan, threads);
    if (!status)
        status = sgemm_bench_open(&sgemm, workbench_hidden(&w), w.threads);
    if (!status)
        status =
            bench_row_measure(out, &w, &sgemm, bench_row_find("training_step"), repeats, limit);
    sgemm_bench_close(&sgemm);
    workbench_close(&w);
    return status;
}

int scaling_sizes(int largest)
{
    int sizes = 2;
    while (sizes < SCALING_SIZES && SCALING_TAXA[sizes] <= largest)
        sizes++;
    return sizes;
}

int scaling_run(scaling *out, session *s, const workbench_plan *plan, int sizes, int threads,
                int repeats, double limit)
{
    double size[SCALING_SIZES], seconds[SCALING_SIZES];
    out->sizes = sizes;
    for (int i = 0; i < sizes; i++) {
        workbench_plan at = {.taxa = SCALING_TAXA[i],
                             .model = plan->model,
                             .particles = plan->particles,
                             .seed = plan->seed};
        int status = measure_size(&out->step[i], s, &at, threads, repeats, limit);
        if (status)
            return status;
        size[i] = SCALING_TAXA[i];
        seconds[i] = out->step[i].seconds.median;
        log_info(&s->log, "%d taxa: %.1f ms", SCALING_TAXA[i], 1e3 * seconds[i]);
    }
    out->exponent = power_law(size, seconds, sizes);
    return ART_OK;
}

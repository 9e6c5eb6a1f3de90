#include "timing/figure.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "cli/banner.h"
#include "cli/progress.h"
#include "cli/training.h"
#include "results/plot.h"

#include <stdio.h>
#include <stdlib.h>

const char *const FIGURE_NAME[FIGURE_CURVES] = {"embedding_projected", "embedding_two_pass",
                                                "embedding_iterated", "embedding_squared",
                                                "message_passing"};

static bench_result time_curve(embedding_bench *b, int curve, double *seconds, int repeats,
                               double limit)
{
    const double start = clock_seconds();
    int n = 0;
    do {
        const double from = clock_seconds();
        if (curve < FIGURE_CURVES - 1)
            embedding_bench_embed(b);
        else
            embedding_bench_pass(b);
        seconds[n++] = clock_seconds() - from;
    } while (n < repeats && clock_seconds() - start < limit);
    return (bench_result){.repeats = n, .seconds = spread_of(seconds, n), .peak = peak_memory()};
}

int figure_run(figure *out, session *s, uint64_t seed, int sizes, int threads, int repeats,
               double limit)
{
    pool *team = NULL;
    double *seconds = mem_zeros((size_t)repeats, sizeof *seconds);
    int status = seconds ? pool_create(&team, threads) : ART_ERR_NOMEM;
    out->sizes = sizes;
    for (int i = 0; i < sizes && !status; i++) {
        embedding_bench b;
        status = embedding_bench_open(&b, SCALING_TAXA[i], FIGURE_TREES, DEFAULT_HIDDEN,
                                      DEFAULT_HEADS, seed, team);
        for (int curve = 0; curve < FIGURE_CURVES && !status; curve++) {
            if (curve < FIGURE_CURVES - 1)
                status = embedding_bench_method(&b, (embedding_method)curve);
            if (!status)
                out->curve[curve][i] = time_curve(&b, curve, seconds, repeats, limit);
        }
        embedding_bench_close(&b);
        log_info(&s->log, "%d taxa done", SCALING_TAXA[i]);
    }
    pool_free(team);
    free(seconds);
    return status;
}

int figure_write(const figure *f, const char *path, int threads, diag *d)
{
    static const char *const label[FIGURE_CURVES] = {
        "embedding, projected", "embedding, two-pass in R^N", "embedding, iterated",
        "embedding, squared iteration", "message passing"};
    char title[96];
    double size[SCALING_SIZES], seconds[FIGURE_CURVES][SCALING_SIZES];
    plot_series series[FIGURE_CURVES];
    for (int i = 0; i < f->sizes; i++)
        size[i] = SCALING_TAXA[i];
    for (int i = 0; i < FIGURE_CURVES; i++) {
        for (int j = 0; j < f->sizes; j++)
            seconds[i][j] = f->curve[i][j].seconds.median;
        series[i] = (plot_series){label[i], size, seconds[i], f->sizes,
                                  i == FIGURE_CURVES - 1 ? PLOT_DASHED : PLOT_LINE};
    }
    snprintf(title, sizeof title, "%d trees on %d thread%s", FIGURE_TREES, threads,
             threads == 1 ? "" : "s");
    buffer text;
    buffer_init(&text);
    const plot p = {
        .title = title, .x_name = "taxa", .y_name = "seconds", .log_x = true, .log_y = true};
    int status = plot_svg(&text, &p, series, FIGURE_CURVES);
    if (!status)
        status = output_whole(path, text.text, text.length, d);
    buffer_free(&text);
    return status;
}

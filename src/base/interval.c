#include "base/interval.h"

#include "artreeformer.h"
#include "base/mem.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

typedef struct weighed {
    double value, weight;
} weighed;

static int by_value(const void *a, const void *b)
{
    const weighed *x = a, *y = b;
    return (x->value > y->value) - (x->value < y->value);
}

static double median_of(const weighed *item, size_t n, double total)
{
    const double half = total / 2, rounding = 1e-12 * total; /* sums of weights */
    double sum = 0;
    size_t i = 0;
    while (i + 1 < n && (sum += item[i].weight) < half - rounding)
        i++;
    const bool divides = i + 1 < n && fabs(sum - half) <= rounding;
    return divides ? (item[i].value + item[i + 1].value) / 2 : item[i].value;
}

/* Both ends move to the right: for every first value the nearest last one. */
static void find_shortest(interval *out, const weighed *item, size_t n, double wanted)
{
    double sum = 0, shortest = INFINITY;
    for (size_t first = 0, next = 0; first < n; first++) {
        while (next < n && sum < wanted)
            sum += item[next++].weight;
        if (sum < wanted)
            return;
        const double width = item[next - 1].value - item[first].value;
        if (width < shortest) {
            shortest = width;
            out->low = item[first].value;
            out->high = item[next - 1].value;
        }
        sum -= item[first].weight;
    }
}

int interval_of(interval *out, const double *value, const double *weight, size_t n, double share)
{
    *out = (interval){NAN, NAN, NAN, NAN};
    weighed *item = mem_zeros(n, sizeof *item);
    if (!item)
        return ART_ERR_NOMEM;
    double total = 0, sum = 0;
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        const double w = weight ? weight[i] : 1;
        if (!(w > 0))
            continue;
        item[count++] = (weighed){value[i], w};
        total += w;
        sum += w * value[i];
    }
    if (count) {
        qsort(item, count, sizeof *item, by_value);
        out->mean = sum / total;
        out->median = median_of(item, count, total);
        find_shortest(out, item, count, (share - 1e-9) * total); /* sums of weights are rounded */
    }
    free(item);
    return ART_OK;
}

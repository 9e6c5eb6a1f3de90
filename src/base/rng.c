#include "base/rng.h"

#include <math.h>
#include <string.h>

enum { ROUNDS = 10 };

void rng_philox(uint32_t out[4], const uint32_t counter[4], const uint32_t key[2])
{
    uint32_t c[4], k0 = key[0], k1 = key[1];
    memcpy(c, counter, sizeof c);
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t p0 = (uint64_t)0xD2511F53u * c[0];
        uint64_t p1 = (uint64_t)0xCD9E8D57u * c[2];
        uint32_t next[4] = {(uint32_t)(p1 >> 32) ^ c[1] ^ k0, (uint32_t)p1,
                            (uint32_t)(p0 >> 32) ^ c[3] ^ k1, (uint32_t)p0};
        memcpy(c, next, sizeof c);
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    memcpy(out, c, sizeof c);
}

rng rng_at(uint64_t seed, uint32_t purpose, uint32_t step, uint32_t index)
{
    rng r = {.key = {(uint32_t)seed, (uint32_t)(seed >> 32)}, .counter = {0, index, step, purpose}};
    return r;
}

uint32_t rng_u32(rng *r)
{
    if (r->left == 0) {
        rng_philox(r->block, r->counter, r->key);
        r->counter[0]++;
        r->left = 4;
    }
    return r->block[4 - r->left--];
}

double rng_uniform(rng *r)
{
    uint64_t high = rng_u32(r) >> 6; /* 26 bits */
    uint64_t low = rng_u32(r) >> 6;  /* 26 bits */
    /* 52 bits and a half step: never 0, never 1 */
    return ((double)(high << 26 | low) + 0.5) * 0x1p-52;
}

double rng_normal(rng *r)
{
    double radius = sqrt(-2 * log(rng_uniform(r)));
    return radius * cos(2 * 3.14159265358979323846 * rng_uniform(r));
}

double rng_exponential(rng *r)
{
    return -log(rng_uniform(r));
}

/* Marsaglia and Tsang 2000: d v of v = (1 + c z)^3, z normal, accepted nearly always. Below 1, a
 * draw of shape + 1 times u^(1 / shape). */
double rng_gamma(rng *r, double shape)
{
    const double factor = shape < 1 ? pow(rng_uniform(r), 1 / shape) : 1;
    const double d = (shape < 1 ? shape + 1 : shape) - 1.0 / 3, c = 1 / sqrt(9 * d);
    for (;;) {
        const double z = rng_normal(r), root = 1 + c * z, v = root * root * root;
        if (root > 0 && log(rng_uniform(r)) < 0.5 * z * z + d - d * v + d * log(v))
            return factor * d * v;
    }
}

uint32_t rng_below(rng *r, uint32_t n)
{
    uint32_t reject = (uint32_t)-n % n; /* 2^32 mod n: the words that would bias */
    for (;;) {
        uint64_t product = (uint64_t)rng_u32(r) * n;
        if ((uint32_t)product >= reject)
            return (uint32_t)(product >> 32);
    }
}

int rng_choose(rng *r, const double *log_weight, int n)
{
    int best = 0;
    double sum = 0;
    for (int i = 1; i < n; i++)
        if (log_weight[i] > log_weight[best])
            best = i;
    for (int i = 0; i < n; i++)
        sum += exp(log_weight[i] - log_weight[best]);
    double left = sum * rng_uniform(r);
    for (int i = 0; i < n; i++)
        if ((left -= exp(log_weight[i] - log_weight[best])) < 0)
            return i;
    return best; /* roundings of the sum */
}

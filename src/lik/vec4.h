/* vec4.h: four numbers, one per base, and the matrices that act on them, for kernels that run
 * over site patterns: included by their .inc files, inlined everywhere, compiled once per
 * instruction set. A transition is 16 numbers, or under JC two, e and c: P x = e x + c sum(x);
 * functions that take `jc` are compiled for both. */
#ifndef LIK_VEC4_H
#define LIK_VEC4_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))

enum { JC_TERMS = 2, MATRIX_TERMS = 16 };

typedef struct vec4 {
    double x[4];
} vec4;

/* A copy of a matrix that cannot alias any store of a kernel. */
typedef struct mat4 {
    double x[MATRIX_TERMS];
} mat4;

INLINE size_t mat4_terms(bool jc)
{
    return jc ? JC_TERMS : MATRIX_TERMS;
}

INLINE mat4 mat4_copy(const double *from, bool jc)
{
    mat4 out;
    memcpy(out.x, from, mat4_terms(jc) * sizeof *from);
    return out;
}

/* Number i of each of four rows of n. */
INLINE vec4 vec4_load(const double *rows, int n, int i)
{
    return (vec4){{rows[i], rows[n + i], rows[2 * n + i], rows[3 * n + i]}};
}

INLINE void vec4_store(double *rows, int n, int i, vec4 a)
{
    rows[i] = a.x[0];
    rows[n + i] = a.x[1];
    rows[2 * n + i] = a.x[2];
    rows[3 * n + i] = a.x[3];
}

INLINE vec4 vec4_times(vec4 a, vec4 b)
{
    return (vec4){{a.x[0] * b.x[0], a.x[1] * b.x[1], a.x[2] * b.x[2], a.x[3] * b.x[3]}};
}

INLINE vec4 vec4_scale(vec4 a, double f)
{
    return (vec4){{a.x[0] * f, a.x[1] * f, a.x[2] * f, a.x[3] * f}};
}

INLINE double vec4_sum(vec4 a)
{
    return (a.x[0] + a.x[1]) + (a.x[2] + a.x[3]);
}

INLINE double vec4_dot(const double *row, vec4 a)
{
    return row[0] * a.x[0] + row[1] * a.x[1] + row[2] * a.x[2] + row[3] * a.x[3];
}

/* P a */
INLINE vec4 mat4_times(const mat4 *p, vec4 a, bool jc)
{
    if (!jc)
        return (vec4){{vec4_dot(p->x, a), vec4_dot(p->x + 4, a), vec4_dot(p->x + 8, a),
                       vec4_dot(p->x + 12, a)}};
    double e = p->x[0], shared = p->x[1] * vec4_sum(a);
    return (vec4){
        {e * a.x[0] + shared, e * a.x[1] + shared, e * a.x[2] + shared, e * a.x[3] + shared}};
}

#endif

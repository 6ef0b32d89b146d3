// SPDX-License-Identifier: MIT
// poly.h: polynomials with rational coefficients in the sizes of a program.
//
// How often something happens is a sum over loops: a statement in `for j in 0..i` inside
// `for i in 0..n` happens Σ_i i = n(n−1)/2 times.  Polynomials are closed under these sums, so a
// count stays exact, can be shown as a formula, and gets a value when sizes are known.  What is not
// a polynomial (a division with a remainder, `max`, a trip count that depends on data) becomes a
// variable with a text of its own.
//
// A result with coefficients, degrees or terms beyond the representation is a variable, too, shown
// as `?`, which has a value where the operands do: others, and values, do not suffer from it.
//
// Everything is in the space's arena.  Lack of memory sets a flag of the space; from then on
// results are meaningless.
#ifndef VYRE_POLY_H
#define VYRE_POLY_H

#include "ir/core/ir.h"

enum { VY_POLY_FACTORS = 8, VY_POLY_TERMS = 512 };

typedef struct vy_poly_factor {
    uint32_t var, power;
} vy_poly_factor;

typedef struct vy_poly_term {
    int64_t num, den; // den > 0, no common divisor
    uint32_t count;   // of factors, sorted by var
    vy_poly_factor factors[VY_POLY_FACTORS];
} vy_poly_term;

// Terms in ascending degree, no monomial twice, none zero.  {NULL, 0} is zero.
typedef struct vy_poly {
    const vy_poly_term *terms;
    uint32_t count;
} vy_poly;

typedef struct vy_poly_var {
    const char *text;
    bool known;  // value
    bool bound;  // a loop or domain variable, to be summed over
    bool atmost; // value is an upper bound
    bool beyond; // a result that is no polynomial of this size
    double value;
} vy_poly_var;
VY_VEC_TYPE(vy_poly_var_vec, vy_poly_var);

typedef struct vy_poly_space {
    vy_arena arena;
    vy_poly_var_vec vars; // [0] is a dummy
    uint32_t *table;      // of variables by text
    uint32_t table_size;
    bool failed;   // out of memory
    bool overflow; // within an operation: its result is beyond the representation
} vy_poly_space;

void vy_poly_free(vy_poly_space *s);

// The variable with this text; created if there is none.
uint32_t vy_poly_name(vy_poly_space *s, const char *text);
// A new variable, not found by its text: a loop's.  It would be printed as `text`.
uint32_t vy_poly_bound(vy_poly_space *s, const char *text);
uint32_t vy_poly_fresh(vy_poly_space *s); // a new one for a value that is no polynomial
// A result beyond the representation; is x one, or made of one?
vy_poly vy_poly_beyond(vy_poly_space *s, bool known, double value, bool atmost);
bool vy_poly_is_beyond(const vy_poly_space *s, vy_poly x);

vy_poly vy_poly_const(vy_poly_space *s, int64_t value);
vy_poly vy_poly_of(vy_poly_space *s, uint32_t var);
vy_poly vy_poly_add(vy_poly_space *s, vy_poly x, vy_poly y);
vy_poly vy_poly_sub(vy_poly_space *s, vy_poly x, vy_poly y);
vy_poly vy_poly_mul(vy_poly_space *s, vy_poly x, vy_poly y);
vy_poly vy_poly_scale(vy_poly_space *s, vy_poly x, int64_t num, int64_t den);
// The sum of many at once.
vy_poly vy_poly_total(vy_poly_space *s, const vy_poly *list, uint32_t count);
// Σ of `body` over var = from, …, to − 1.
vy_poly vy_poly_sum(vy_poly_space *s, vy_poly body, uint32_t var, vy_poly from, vy_poly to);

// VY_DIM_DIV, REM, MIN, MAX, SQRT: a polynomial in special cases, else a variable with a text of
// its own.
vy_poly vy_poly_special(vy_poly_space *s, vy_dim_op op, vy_poly a, vy_poly b);

bool vy_poly_is_const(vy_poly x, int64_t *value); // an integer
bool vy_poly_has_bound(const vy_poly_space *s, vy_poly x);
// Is x/c an integer for all integer values of the variables?
bool vy_poly_divides(vy_poly_space *s, vy_poly x, int64_t c);
// Its value; false: some variable has none.  *atmost is set (never cleared) if it is an upper
// bound.
bool vy_poly_value(const vy_poly_space *s, vy_poly x, double *value, bool *atmost);
// `5 + 12*K + K*D^2/2`: * and ^ are product and power, / is exact.  In the arena; "" after a
// failure.
const char *vy_poly_text(vy_poly_space *s, vy_poly x);

#endif

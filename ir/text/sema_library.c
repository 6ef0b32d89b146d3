// SPDX-License-Identifier: MIT
// sema_library.c: calls of functions that expand into operations (ir/build/library.h), whose rows
// say by letters what they take and give.
#include "ir/build/library.h"
#include "ir/text/front.h"

#include <string.h>

typedef struct call {
    vy_front *f;
    vy_ast_expr *e;
    const vy_library_function *fn;
    vy_text_type number, integer, word; // of F, N and W so far
    vy_text_type of;                    // of S, V, Q and M; VY_VOID: not known yet
    uint32_t n;                         // components of F, I, N and W
} call;

static void refuse(const call *c, const vy_ast_expr *a, const char *fix)
{
    if (c->f->failed) return;
    vy_front_error(c->f, VY_E_TYPE_WRONG, a->line, a->column, fix,
                   "`%s` is not for values of type %s", c->fn->name,
                   vy_any_type_name(c->f, a->type));
}

// ----------------------------------------------------------------------------------- by components
static bool is_whole(vy_text_type t) { return t == VY_ANY_INT || vy_operator_fits(TK_REM, t); }

static bool fits(char letter, vy_text_type t)
{
    switch (letter) {
    case 'F': return vy_is_any(t) || vy_type_is_float((vy_type)t);
    case 'I': return t == VY_I32 || t == VY_ANY_INT;
    case 'U': return t == VY_U32 || t == VY_ANY_INT;
    case 'W': return t == VY_U32 || t == VY_U64 || t == VY_ANY_INT;
    default: return is_whole(t);
    }
}

static const char *fix_of(char letter)
{
    return letter == 'I'   ? "convert it, like i32(n)"
           : letter == 'U' ? "convert it, like u32(n)"
           : letter == 'W' ? "give bits, like those of philox(i, seed)"
           : letter == 'N' ? "give integers"
                           : "convert it, like f32(n)";
}

// A scalar goes with each component of the others.
static void take_components(call *c, vy_ast_expr *a, char letter)
{
    vy_text_type *all = letter == 'F'   ? &c->number
                        : letter == 'N' ? &c->integer
                        : letter == 'W' ? &c->word
                                        : NULL;
    const vy_text_type t = vy_synth(c->f, a);
    if (c->f->failed) return;
    const uint32_t n = vy_scalars(c->f, t);
    if (vy_is_matrix(c->f, t) || !fits(letter, vy_element(c->f, t)))
        refuse(c, a, fix_of(letter));
    else if (n > 1 && c->n > 1 && n != c->n)
        vy_front_error(c->f, VY_E_TYPES_DIFFER, a->line, a->column,
                       "give as many components, or one number for all",
                       "`%s` takes %u components here, not the %u of %s", c->fn->name, c->n, n,
                       vy_any_type_name(c->f, t));
    if (n > c->n) c->n = n;
    if (all && !c->f->failed) *all = vy_widen(c->f, *all, a, t, c->fn->name);
    if (!all && vy_is_any(t)) vy_settle(c->f, a, letter == 'U' ? VY_U32 : VY_I32);
}

// Literals become what the others are; where there are no others, what the context needs.
static void settle_letter(const call *c, char letter, vy_text_type t)
{
    const char *s = c->fn->takes;
    for (vy_ast_expr *a = c->e->u.ref.list; a && !c->f->failed; a = a->next, s++)
        if (*s == letter && vy_is_any(a->type)) vy_settle(c->f, a, t);
}

// ------------------------------------------------------------------------------ of fixed sizes
static uint32_t size_of(char letter) { return letter == 'S' ? 1 : letter == 'V' ? 3 : 4; }

static vy_text_type type_of(const call *c, char letter)
{
    return vy_vector_type(c->of, size_of(letter));
}

static void take_fixed(call *c, vy_ast_expr *a, char letter)
{
    if (c->of != VY_VOID) {
        vy_check_as(c->f, a, type_of(c, letter), "the parameter");
        return;
    }
    const vy_text_type t = vy_synth(c->f, a), of = c->f->failed ? VY_BROKEN : vy_element(c->f, t);
    if (c->f->failed) return;
    if (!vy_is_vector(c->f, t) || vy_scalars(c->f, t) != size_of(letter) ||
        !vy_type_is_float((vy_type)of))
        refuse(c, a, letter == 'V' ? "give a vec3" : "give a vec4: x, y, z, w");
    c->of = of;
}

// Unsigned integers: one, or a vector of `least` … `most`.
static void take_words(const call *c, vy_ast_expr *a, uint32_t least, uint32_t most,
                       const char *fix)
{
    const vy_text_type t = vy_synth(c->f, a);
    if (c->f->failed) return;
    if (vy_is_any(t) && t == VY_ANY_INT && least == 1) vy_settle(c->f, a, VY_U32);
    const uint32_t n = vy_scalars(c->f, t);
    const bool words =
        a->type == VY_U32 || (vy_is_vector(c->f, t) && vy_element(c->f, t) == VY_U32);
    if (!words || n < least || n > most || (least == 2 && n == 3)) refuse(c, a, fix);
}

static void check_argument(call *c, vy_ast_expr *a, char letter)
{
    switch (letter) {
    case 'C': take_words(c, a, 1, 4, "give a u32, uvec2, uvec3 or uvec4"); break;
    case 'K': take_words(c, a, 1, 2, "give a u32 or uvec2"); break;
    case 'P': take_words(c, a, 2, 4, "give a uvec2 or uvec4, like philox(i, seed)"); break;
    case 'S':
    case 'V':
    case 'Q': take_fixed(c, a, letter); break;
    default: take_components(c, a, letter); break;
    }
}

// ---------------------------------------------------------------------------------------- results
static vy_text_type result(const call *c, char letter)
{
    const vy_text_type first = c->e->u.ref.list->type;
    switch (letter) {
    case 'F': return vy_vector_type(vy_element(c->f, c->number), c->n);
    case 'I': return vy_vector_type(VY_I32, c->n);
    case 'N': return vy_vector_type(vy_element(c->f, c->integer), c->n);
    case 'U': return vy_vector_type(VY_U32, c->n);
    case 'R': return vy_vector_type(vy_element(c->f, c->word) == VY_U64 ? VY_F64 : VY_F32, c->n);
    case 'X': return vy_vector_type(VY_U32, 4);
    case 'Y': return vy_vector_type(VY_F32, vy_scalars(c->f, first));
    case 'M': return vy_matrix_type(c->f, c->of, 3, 3);
    default: return type_of(c, letter);
    }
}

// One float of literals alone keeps the type of its context.
static bool is_open(const call *c)
{
    return c->number == VY_ANY_FLOAT && c->n == 1 && !c->fn->gives[1];
}

static void settle(call *c)
{
    if (c->number == VY_ANY_INT) c->number = VY_ANY_FLOAT;
    if (c->number == VY_ANY_FLOAT && !is_open(c)) c->number = VY_F32;
    if (c->integer == VY_ANY_INT) c->integer = VY_I32;
    if (c->word == VY_ANY_INT) c->word = VY_U32;
    if (!vy_is_any(c->number)) settle_letter(c, 'F', vy_element(c->f, c->number));
    settle_letter(c, 'N', vy_element(c->f, c->integer));
    settle_letter(c, 'W', vy_element(c->f, c->word));
}

static bool count_is(const call *c)
{
    const uint32_t n = (uint32_t)strlen(c->fn->takes);
    if (c->e->count == n) return true;
    vy_front_error(c->f, VY_E_ARGUMENTS, c->e->line, c->e->column, NULL,
                   "`%s` takes %u arguments, not %u", c->fn->name, n, c->e->count);
    return false;
}

uint32_t vy_synth_library(vy_front *f, vy_ast_expr *e, vy_text_type *results)
{
    const vy_library_function *fn = vy_library_at(vy_call_builtin(e)->op);
    call c = {.f = f, .e = e, .fn = fn, .n = 1};
    const char *s = fn->takes;
    c.number = c.integer = c.word = c.of = VY_VOID;
    if (!count_is(&c)) return 0;
    for (vy_ast_expr *a = e->u.ref.list; a && !f->failed; a = a->next) check_argument(&c, a, *s++);
    if (!f->failed) settle(&c);
    uint32_t n = 0;
    for (const char *r = fn->gives; *r && !f->failed; r++)
        results[n++] = *r == 'F' && is_open(&c) ? VY_ANY_FLOAT : result(&c, *r);
    return n;
}

// ldexp(1, n) gets its type from the context.
void vy_settle_library(vy_front *f, vy_ast_expr *e, vy_text_type type)
{
    const call c = {.f = f, .e = e, .fn = vy_library_at(vy_call_builtin(e)->op)};
    if (vy_type_is_float((vy_type)type))
        settle_letter(&c, 'F', type);
    else
        vy_front_error(f, VY_E_TYPE_WRONG, e->line, e->column, NULL,
                       "`%s` is not for values of type %s", c.fn->name, vy_any_type_name(f, type));
}

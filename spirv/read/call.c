// SPDX-License-Identifier: MIT
// call.c: functions, which are inlined: arguments, results, and variables for values that outlive
// the construct that computes them.
#include "spirv/read/reading.h"

enum { MOST_CALLS = 64 };

static uint32_t word(const reading *r, uint32_t i) { return read_word(&r->w, r->at, i); }

static bool wrong(reading *r, const char *what)
{
    return read_fail(r, VY_E_SHADER_WORDS, "", "%s", what);
}

// One for each scalar of the type.  Without a name a vector's are those of `v`, to be one in text.
static void make_variables(reading *r, const char *name, uint32_t type, vy_var *vars)
{
    const uint32_t n = read_type_of(r, type)->scalars, vector = read_vector_size(r, type);
    if (vector && !*name) name = "v";
    for (uint32_t k = 0; k < n; k++) {
        const vy_value zero = vy_zero(r->b, vy_type_loaded(read_scalar_type(r, type, k)));
        vars[k] = vy_var_new(r->b, read_component_name(r, name, vector, k), zero);
    }
}

static bool keep(reading *r, uint32_t id)
{
    const uint32_t type = read_type_id(r, id), n = read_type_of(r, type)->scalars;
    r->value_at[id] = 0;
    if (!(r->facts[id] & READ_OUTLIVES) && read_op_of(&r->w, id) != SpvOpPhi) return true;
    if (!read_room(r, type)) return false; // it is too large for a value
    vy_var *vars = vy_arena_alloc(&r->building, (n + 1) * sizeof *vars);
    if (!vars) return read_no_memory(r);
    make_variables(r, read_name(r, id), type, vars);
    r->kept[id] = vars;
    return !vy_builder_failed(r->b);
}

// Variables for what outlives its constructs; its first block.
static bool prepare_call(reading *r, uint32_t function, uint32_t *first)
{
    *first = 0;
    uint32_t at = read_definition(&r->w, function);
    for (; at < r->w.count && read_op(&r->w, at) != SpvOpFunctionEnd; at = read_next(&r->w, at)) {
        const SpvOp op = read_op(&r->w, at);
        if (op == SpvOpLabel) r->built[read_word(&r->w, at, 1)] = false;
        if (op == SpvOpLabel && !*first) *first = read_word(&r->w, at, 1);
        if (op == SpvOpFunction || op == SpvOpFunctionParameter) continue;
        const uint32_t id = read_result(&r->w, at);
        if (id && !keep(r, id)) return false;
    }
    r->frame->end = at;
    return *first || wrong(r, "a function without blocks");
}

bool read_function(reading *r, uint32_t id, const vy_var *results)
{
    uint32_t first;
    read_frame frame = {.id = id, .results = results, .caller = r->frame};
    uint32_t calls = 0;
    for (const read_frame *f = r->frame; f; f = f->caller, calls++)
        if (f->id == id) return wrong(r, "a function calls itself");
    if (calls > MOST_CALLS)
        return read_fail(r, VY_E_SHADER_LIMIT, "", "calls are nested more than %d deep",
                         MOST_CALLS);
    const read_exit_vec outside = r->exits;
    r->exits = (read_exit_vec){0};
    r->frame = &frame;
    vy_function_begin(r->b);
    const bool ok = prepare_call(r, id, &first) && read_follow(r, first);
    if (!vy_builder_failed(r->b)) vy_function_end(r->b);
    vy_vec_free(&r->exits);
    r->exits = outside;
    r->frame = frame.caller;
    return ok && !vy_builder_failed(r->b);
}

// Values and pointers of the call are those of its function's parameters.
static bool pass_arguments(reading *r, uint32_t function)
{
    uint32_t i = 4, at = read_next(&r->w, read_definition(&r->w, function));
    for (; at < r->w.count && read_op(&r->w, at) != SpvOpLabel; at = read_next(&r->w, at)) {
        if (read_op(&r->w, at) != SpvOpFunctionParameter) continue;
        const uint32_t type = read_word(&r->w, at, 1), to = read_word(&r->w, at, 2);
        const uint32_t from = word(r, i++);
        if (read_type_of(r, type)->op == SpvOpTypePointer || read_is_image(r, type)) {
            r->pointers[to] = read_pointer_of(r, from);
            if (!r->pointers[to]) return false;
            continue;
        }
        vy_value *v = read_room(r, type);
        if (!v || read_scalar_count(r, from) != read_type_of(r, type)->scalars)
            return v && wrong(r, "an argument of another type");
        for (uint32_t k = 0; k < read_type_of(r, type)->scalars; k++)
            v[k] = read_scalar(r, from, k);
        if (!keep(r, to) || !read_define(r, to, read_type_of(r, type)->scalars, v)) return false;
    }
    return true;
}

static bool is_one(const reading *r, uint32_t type, vy_type scalar) // value of it
{
    const read_type *t = read_type_of(r, type);
    return t->scalars == 1 && t->scalar == scalar;
}

static bool call_library(reading *r, const read_library_call *call)
{
    const uint32_t n = read_length(&r->w, r->at) - 4;
    vy_value x[2], *v = read_room(r, word(r, 1));
    if (!v) return false;
    bool fits = n == call->arity && is_one(r, word(r, 1), call->type);
    for (uint32_t k = 0; k < n && fits; k++) {
        fits = is_one(r, read_type_id(r, word(r, 4 + k)), call->type);
        if (fits) x[k] = read_scalar(r, word(r, 4 + k), 0);
    }
    if (!fits) return wrong(r, "an argument of another type");
    v[0] = read_library_value(r->b, call, x);
    return read_define(r, word(r, 2), 1, v);
}

bool read_call(reading *r)
{
    const uint32_t at = r->at, id = word(r, 2), function = word(r, 3), type = word(r, 1);
    if (read_op_of(&r->w, function) != SpvOpFunction) return wrong(r, "a call of no function");
    const read_library_call *operation = read_library_of(r, function);
    if (operation) return call_library(r, operation);
    const uint32_t n = read_type_of(r, type)->scalars;
    vy_value *v = read_room(r, type);
    vy_var *results = vy_arena_alloc(&r->building, (n + 1) * sizeof *results);
    if (!v || !results) return read_no_memory(r);
    make_variables(r, read_name(r, function), type, results);
    if (!pass_arguments(r, function) || !read_function(r, function, results)) return false;
    r->at = at;
    for (uint32_t k = 0; k < n; k++) v[k] = vy_get(r->b, results[k]);
    return !n || read_define(r, id, n, v);
}

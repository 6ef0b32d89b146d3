// SPDX-License-Identifier: MIT
// library.c: functions of our library (spirv/emit/library.c) in modules that we have emitted.
//
//   %r = OpFunctionCall %float %sin_plain %x    →   sin(x)
//
// Inlined, the 60 instructions of a sine would hide what is computed: from the reader of the text,
// and from differentiation, which takes the derivative of each.  So a call of such a function is
// read as the operation that it computes.  Its name says only which operation to think of.  That
// operation is then compiled by itself, and the function has to be the one that it calls, word for
// word (same.h): the program, emitted again, calls the same function and computes the same bits.
// A function that differs in one word is inlined as any other, and so is one without a name.
//
// Which function an operation becomes depends on whether the program is exact (--precise), and
// whether a shader is exact on decorations of what it executes.  Those inside of functions that are
// operations do not count, as all our functions have them, whatever their caller has.  So
// functions are looked for as in a program that is not exact; if then some operation that is
// executed is decorated, all are looked for again as in an exact one.
#include "spirv/emit/library.h"
#include "spirv/read/reading.h"
#include "spirv/read/same.h"
#include "spirv/spirv.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

// ------------------------------------------------------------------------------------------- names
// "sin_plain": sin of f32; "polygamma_3_f64"; "sin_plain_1": names are numbered where several
// things have them.  False: it is no name of ours.
static bool of_name(const char *name, read_library_call *call)
{
    char of[40], *order;
    if (strlen(name) >= sizeof of) return false;
    strcpy(of, name);
    *call = (read_library_call){0};
    if (!strncmp(of, "polygamma_", 10) && isdigit(of[10])) {
        call->order = (uint32_t)strtoul(of + 10, &order, 10);
        memmove(of + 9, order, strlen(order) + 1);
    }
    uint32_t item = vy_library_find(of);
    char *end = strrchr(of, '_');
    if (item == UINT32_MAX && end && isdigit(end[1])) {
        *end = 0;
        item = vy_library_find(of);
        end = strrchr(of, '_');
    }
    if (item == UINT32_MAX || !end) return false;
    *end = 0;
    call->type = vy_library_type(item);
    memcpy(call->name, of, sizeof of);
    return !strcmp(of, "digamma") || vy_op_from_call(of, strlen(of)) || call->order;
}

const read_library_call *read_library_of(const reading *r, uint32_t function)
{
    return function < r->w.bound ? r->library[function] : NULL;
}

vy_value read_library_value(vy_builder *b, const read_library_call *call, const vy_value *x)
{
    if (call->order) return vy_polygamma(b, call->order, x[0]);
    return vy_call(b, call->name, call->arity, x);
}

// --------------------------------------------------------------------- what the operation becomes
// A program of one invocation that executes the operation.  NULL: there is no such operation, or
// no memory.
static vy_program *one_operation(vy_module *m, const read_library_call *call, bool exact)
{
    static const char *const names[] = {"x", "y"};
    vy_value x[2];
    vy_builder *b = vy_program_begin(m, "operation");
    if (!b) return NULL;
    if (exact) vy_exact(b);
    const vy_dim one = vy_dim_const(b, 1);
    const vy_value zero = vy_int(b, VY_U32, 0);
    for (uint32_t k = 0; k < call->arity; k++) {
        const vy_buffer in = vy_param_buffer(b, names[k], VY_IN, call->type, 1, &one);
        x[k] = vy_load(b, in, &zero);
    }
    const vy_buffer r = vy_param_buffer(b, "r", VY_OUT, call->type, 1, &one);
    vy_store(b, r, &zero, read_library_value(b, call, x));
    return vy_program_end(b);
}

static uint32_t first_called(const read_words *w) // 0: the operation needs no function
{
    for (uint32_t at = w->functions; at < w->count; at = read_next(w, at))
        if (read_op(w, at) == SpvOpFunctionCall) return read_word(w, at, 3);
    return 0;
}

// Whether the function is the one that `compiled` calls.
static bool is_called_in(reading *r, uint32_t function, const vy_compiled *compiled, bool *is)
{
    vy_arena arena = {0};
    read_words w;
    read_fault fault;
    bool ok = read_words_make(&w, compiled->words, compiled->word_count * 4, &arena, &fault);
    const uint32_t called = ok ? first_called(&w) : 0;
    const uint8_t *decorated = called ? read_decorations(&w, &arena) : NULL;
    if (called)
        ok = decorated && read_same_function((read_side){&r->w, r->decorated}, function,
                                             (read_side){&w, decorated}, called, is);
    vy_arena_free(&arena);
    return ok;
}

static uint32_t parameters(const read_words *w, uint32_t function)
{
    const uint32_t type = read_word_of(w, function, 4), at = read_definition(w, type);
    return at && read_op(w, at) == SpvOpTypeFunction ? read_length(w, at) - 3 : 0;
}

// What calls are compiled to, each once however many functions have its name.
typedef struct compiled_call {
    read_library_call call;
    vy_compiled *code; // NULL: there is no such operation
} compiled_call;
VY_VEC_TYPE(compiled_call_vec, compiled_call);

static bool same_call(const read_library_call *x, const read_library_call *y)
{
    return x->type == y->type && x->order == y->order && x->arity == y->arity &&
           !strcmp(x->name, y->name);
}

static vy_compiled *compile(const read_library_call *call, bool exact)
{
    vy_diag unused;
    if (call->arity == 0 || call->arity > 2) return NULL;
    vy_module *m = vy_module_new();
    const vy_program *p = m ? one_operation(m, call, exact) : NULL;
    vy_compiled *code = p ? vy_compile(p, NULL, &unused) : NULL;
    vy_module_free(m);
    return code;
}

// False: no memory.
static bool code_of(compiled_call_vec *known, const read_library_call *call, bool exact,
                    const vy_compiled **code)
{
    const uint64_t before = vy_memory_failures();
    for (uint32_t k = 0; k < known->count; k++) {
        *code = known->data[k].code;
        if (same_call(&known->data[k].call, call)) return true;
    }
    const compiled_call one = {*call, compile(call, exact)};
    *code = one.code;
    if (vy_memory_failures() == before && vy_vec_push(known, one)) return true;
    vy_compiled_free(one.code);
    return false;
}

static void forget(compiled_call_vec *known)
{
    for (uint32_t k = 0; k < known->count; k++) vy_compiled_free(known->data[k].code);
    vy_vec_free(known);
}

// --------------------------------------------------------------------------------------- functions
// Enters function `id` if it is what the operation of this name is compiled to.
static bool find_function(reading *r, compiled_call_vec *known, uint32_t id, const char *name,
                          bool exact)
{
    read_library_call call;
    const vy_compiled *code;
    bool is = false;
    r->library[id] = NULL;
    if (!of_name(name, &call)) return true;
    call.arity = parameters(&r->w, id);
    if (!code_of(known, &call, exact, &code) || (code && !is_called_in(r, id, code, &is)))
        return read_no_memory(r);
    if (!is) return true;
    r->library[id] = vy_arena_alloc(&r->arena, sizeof call);
    if (!r->library[id]) return read_no_memory(r);
    *r->library[id] = call;
    return true;
}

static bool find_functions(reading *r, bool exact)
{
    compiled_call_vec known = {0};
    bool ok = true;
    for (uint32_t at = READ_HEADER; ok && at < r->w.functions; at = read_next(&r->w, at)) {
        const uint32_t id = read_word(&r->w, at, 1);
        if (read_op(&r->w, at) == SpvOpName && read_op_of(&r->w, id) == SpvOpFunction)
            ok = find_function(r, &known, id, read_string(&r->w, at, 2), exact);
    }
    forget(&known);
    return ok;
}

// Whether what the entry point executes, but for operations, is decorated as exact.
typedef struct walk {
    reading *r;
    vy_id_vec todo; // functions
    bool *seen;     // by id
} walk;

static bool visit(walk *w, uint32_t function)
{
    reading *r = w->r;
    if (read_op_of(&r->w, function) != SpvOpFunction) return true; // an error when it is read
    if (w->seen[function] || r->library[function]) return true;
    w->seen[function] = true;
    return vy_vec_push(&w->todo, function);
}

static bool look_into(walk *w, uint32_t function, bool *exact)
{
    const read_words *words = &w->r->w;
    uint32_t at = read_definition(words, function);
    for (; at < words->count && read_op(words, at) != SpvOpFunctionEnd; at = read_next(words, at)) {
        const SpvOp op = read_op(words, at);
        const uint32_t id = read_result(words, at), label = read_word(words, at, 1);
        const uint32_t made = id ? id : read_definition(words, label) == at ? label : 0;
        if (w->r->decorated[made] & READ_EXACT) *exact = true;
        if (op == SpvOpFunctionCall && !visit(w, read_word(words, at, 3))) return false;
    }
    return true;
}

static bool find_exact(reading *r, bool *exact)
{
    uint8_t any = 0;
    *exact = false;
    for (uint32_t id = 0; id < r->w.bound; id++) any |= r->decorated[id];
    if (!(any & READ_EXACT)) return true;
    walk w = {.r = r, .seen = vy_arena_alloc(&r->arena, r->w.bound + 1)};
    bool ok = w.seen && visit(&w, r->main);
    while (ok && w.todo.count && !*exact) ok = look_into(&w, w.todo.data[--w.todo.count], exact);
    vy_vec_free(&w.todo);
    return ok || read_no_memory(r);
}

bool read_library(reading *r)
{
    r->library = vy_arena_alloc(&r->arena, (r->w.bound + 1) * sizeof *r->library);
    r->decorated = read_decorations(&r->w, &r->arena);
    if (!r->library || !r->decorated) return read_no_memory(r);
    return find_functions(r, false) && find_exact(r, &r->exact) &&
           (!r->exact || find_functions(r, true));
}

// SPDX-License-Identifier: MIT
// read.c: from the words of a module to a program: the entry point, builds until nothing new is
// noted.
#include "ir/pass/pass.h"
#include "spirv/read/reading.h"

#include <string.h>

enum { MOST_BUILDS = 32 };

// -------------------------------------------------------------------------------------- the entry
static bool is_compute(const reading *r, uint32_t at)
{
    return read_op(&r->w, at) == SpvOpEntryPoint &&
           read_word(&r->w, at, 1) == SpvExecutionModelGLCompute;
}

static const char *wanted(const reading *r) { return r->options ? r->options->entry : NULL; }

static bool find_entry(reading *r)
{
    uint32_t found = 0, count = 0;
    for (uint32_t at = READ_HEADER; at < r->w.functions; at = read_next(&r->w, at)) {
        if (!is_compute(r, at)) continue;
        const char *name = read_string(&r->w, at, 3);
        if (wanted(r) && strcmp(name, wanted(r))) continue;
        found = at;
        count++;
    }
    if (count == 0 && wanted(r))
        return read_fail(r, VY_E_SHADER_REQUEST, "see `spirv-dis`",
                         "it has no compute entry point %s", wanted(r));
    if (count == 0)
        return read_fail(r, VY_E_SHADER_REQUEST, "give a compute shader",
                         "it has no compute entry point");
    if (count > 1)
        return read_fail(r, VY_E_SHADER_REQUEST, "choose one with --entry NAME",
                         "it has %u compute entry points", count);
    r->entry = found;
    r->main = read_word(&r->w, found, 2);
    return read_op_of(&r->w, r->main) == SpvOpFunction ||
           read_fail(r, VY_E_SHADER_WORDS, "", "the entry point is no function");
}

// The workgroup: of an execution mode, or of the constant that is decorated so.
static bool find_workgroup(reading *r, uint32_t size[3])
{
    for (uint32_t k = 0; k < 3; k++) size[k] = 1;
    for (uint32_t at = READ_HEADER; at < r->w.functions; at = read_next(&r->w, at)) {
        const SpvOp op = read_op(&r->w, at);
        if ((op != SpvOpExecutionMode && op != SpvOpExecutionModeId) ||
            read_word(&r->w, at, 1) != r->main)
            continue;
        const uint32_t mode = read_word(&r->w, at, 2);
        for (uint32_t k = 0; k < 3; k++) {
            const uint32_t w = read_word(&r->w, at, 3 + k);
            if (mode == SpvExecutionModeLocalSize) size[k] = w;
            if (mode == SpvExecutionModeLocalSizeId && !read_constant_u32(r, w, &size[k]))
                return false;
        }
    }
    for (uint32_t id = 1; id < r->w.bound; id++) {
        const uint32_t *builtin =
            r->note_at[id] ? read_decoration(r, id, SpvDecorationBuiltIn) : NULL;
        if (!builtin || *builtin != SpvBuiltInWorkgroupSize || read_scalar_count(r, id) != 3)
            continue;
        for (uint32_t k = 0; k < 3; k++) {
            const vy_value v = read_scalar(r, id, k);
            const vy_scalar *s =
                vy_builder_failed(r->b) ? NULL : vy_id_const(vy_builder_program(r->b), v.id);
            if (s) size[k] = (uint32_t)s->u;
        }
    }
    return !vy_builder_failed(r->b);
}

// The file that line numbers count in: that of the first OpSource.
static void find_source(reading *r)
{
    for (uint32_t at = READ_HEADER; at < r->w.functions && !r->source; at = read_next(&r->w, at))
        if (read_op(&r->w, at) == SpvOpSource) r->source = read_word(&r->w, at, 3);
}

// ----------------------------------------------------------------------------------------- builds
static bool room(reading *r)
{
    const size_t n = r->w.bound + 1;
    r->types = vy_arena_alloc(&r->building, n * sizeof *r->types);
    r->value_at = vy_arena_alloc(&r->building, n * sizeof *r->value_at);
    r->kept = vy_arena_alloc(&r->building, n * sizeof *r->kept);
    r->now = vy_arena_alloc(&r->building, n * sizeof *r->now);
    r->outlived = vy_arena_alloc(&r->building, n);
    r->pointers = vy_arena_alloc(&r->building, n * sizeof *r->pointers);
    r->objects = vy_arena_alloc(&r->building, n * sizeof *r->objects);
    r->built = vy_arena_alloc(&r->building, n * sizeof *r->built);
    r->seen = vy_arena_alloc(&r->building, n * sizeof *r->seen);
    r->misplaced = false;
    r->seen_now = r->privates.count = 0;
    r->values.count = r->exits.count = r->unread.count = 0;
    r->depth = r->constants = r->line = r->column = 0;
    r->instructions = 0;
    r->at = 0;
    return (r->types && r->value_at && r->now && r->kept && r->outlived && r->pointers &&
            r->objects && r->built && r->seen) ||
           read_no_memory(r);
}

// Before the program is checked: guards decide which control flow is uniform.
static bool finish(vy_program *p, void *user)
{
    const reading *r = user;
    if (r->misplaced) read_forget_places(p);
    vy_pass_context c = {0};
    const bool keep = r->options && r->options->keep_domain;
    return (keep || read_domain(p)) && read_launch(p) && read_quotients(p) && read_lockstep(p) &&
           read_steps(p) && vy_pass_count_loops(p, &c) && read_subgroup_arms(p) && read_once(p) &&
           vy_pass_dce(p, &c) && vy_pass_cleanup(p, &c);
}

// The program is built: what building it took is given back, for the passes that follow.
static bool end(reading *r)
{
    const bool kept = vy_keep_unread(r->m, r->unread.count, r->unread.data);
    vy_arena_free(&r->building);
    r->building = (vy_arena){0};
    vy_vec_free(&r->values);
    if (kept) return vy_program_end_after(r->b, finish, r) != NULL;
    vy_program_abandon(r->b);
    return read_no_memory(r);
}

static bool build(reading *r)
{
    uint32_t size[3];
    if (!room(r) || !find_entry(r) || (!r->library && !read_library(r))) return false;
    const char *name = read_string(&r->w, r->entry, 3);
    r->b = vy_program_begin(r->m, *name ? name : "main");
    if (!r->b || !vy_build_expect(r->b, (r->w.count - r->w.functions) / 4)) {
        vy_program_abandon(r->b);
        return read_no_memory(r);
    }
    if (r->exact) vy_exact(r->b);
    vy_shader(r->b);
    bool ok = read_declarations(r) && find_workgroup(r, size);
    if (ok) vy_workgroup(r->b, size[0], size[1], size[2]);
    ok = ok && read_globals(r) && read_samplers_exist(r) && read_function(r, r->main, NULL);
    if (ok) read_compare_guess(r);
    if (ok && !r->noted) return end(r);
    vy_program_abandon(r->b);
    return ok;
}

// Builds it until nothing new is noted.
static bool build_all(reading *r)
{
    for (uint32_t k = 0; k < MOST_BUILDS; k++) {
        r->noted = false;
        vy_arena_free(&r->building);
        r->building = (vy_arena){0};
        const bool built = build(r);
        if (!vy_module_ok(r->m)) return false;
        if (!built) return read_fail(r, VY_E_SHADER_WORDS, "", "it cannot be built");
        if (!r->noted) return true;
    }
    return read_fail(r, VY_E_SHADER_LIMIT, "", "its values are needed in too many places");
}

static bool begin_reading(reading *r, const void *data, size_t size)
{
    read_fault fault = {0};
    if (!read_words_make(&r->w, data, size, &r->arena, &fault)) {
        if (!fault.what) return read_no_memory(r);
        vy_fail(r->m, VY_E_SHADER_WORDS, 0, 0, NULL, "%s (word %u)", fault.what, fault.at);
        return false;
    }
    r->facts = vy_arena_alloc(&r->arena, r->w.bound + 1);
    r->uses = vy_arena_alloc(&r->arena, (r->w.bound + 1) * sizeof *r->uses);
    if (!r->facts || !r->uses || !read_find_ours(r) || !read_take_notes(r))
        return read_no_memory(r);
    find_source(r);
    return true;
}

bool vy_spirv_is(const void *data, size_t size)
{
    return size >= 4 &&
           (!memcmp(data, "\x03\x02\x23\x07", 4) || !memcmp(data, "\x07\x23\x02\x03", 4));
}

// What other values of constants might mend.
static bool is_of_sizes(const vy_diag *d)
{
    return vy_diag_is(d, VY_E_LIMIT) || vy_diag_is(d, VY_E_SHADER_LIMIT) ||
           vy_diag_is(d, VY_E_ARRAY_EXTENT);
}

static vy_module *read_module_once(const void *data, size_t size, const char *file,
                                   const vy_read_options *options, bool guess)
{
    vy_module *m = vy_module_new();
    if (!m) return NULL;
    reading r = {.m = m, .options = options, .file = file, .guess = guess};
    if (begin_reading(&r, data, size)) build_all(&r); // which checks its program
    if (is_of_sizes(&m->diag)) read_name_sizes(&r);
    vy_vec_free(&r.notes);
    vy_vec_free(&r.values);
    vy_vec_free(&r.exits);
    vy_vec_free(&r.privates);
    vy_vec_free(&r.unread);
    vy_arena_free(&r.building);
    vy_arena_free(&r.arena);
    return m;
}

// What fails may do so because of the guess; without one, errors are those of the module itself.
static vy_module *read_module(const void *data, size_t size, const char *file,
                              const vy_read_options *options)
{
    vy_module *m = read_module_once(data, size, file, options, true);
    if (!m || vy_module_ok(m)) return m;
    vy_module_free(m);
    return read_module_once(data, size, file, options, false);
}

// A shader that stores to one element of many invocations where a parameter says that there is one
// (`if (dims == 1) y[gid.x] = …`, or an axis that is launched with one) is read without a domain:
// how it is launched is the caller's.
static bool is_of_domain(const vy_module *m)
{
    const vy_diag *d = vy_module_diag(m);
    return vy_diag_is(d, VY_E_STORE_RACE) || vy_diag_is(d, VY_E_NONUNIFORM);
}

vy_module *vy_spirv_read(const void *data, size_t size, const char *file,
                         const vy_read_options *options)
{
    vy_read_options own;
    vy_diag wrong = {0};
    if (!vy_take_options(&own, sizeof own, sizeof own, options, "vy_read_options", &wrong)) {
        vy_module *none = vy_module_new();
        if (none) none->diag = wrong;
        return none;
    }
    vy_module *m = read_module(data, size, file, &own);
    if (!m || vy_module_ok(m) || own.keep_domain || !is_of_domain(m)) return m;
    own.keep_domain = true;
    vy_module *launched = read_module(data, size, file, &own);
    const bool better = launched && vy_module_ok(launched);
    vy_module_free(better ? m : launched);
    return better ? launched : m;
}

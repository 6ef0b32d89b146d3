// SPDX-License-Identifier: MIT
// counting_stages.c: a derivative whose tapes are as long as the data say takes three programs.
//
//   pipeline f_grad(x: in f32[N], grad_x: out f32[N], N: u32) {
//       buffer count: u32[1, (N + 31) / 32, 32];
//       f_count(x, count);                     // runs the loops
//       buffer base: u32[1, (N + 31) / 32];
//       buffer total: u32[1];
//       f_offsets(count, base, total);         // prefix sum over the largest count of each block
//       buffer tape4_s: f32[value(total[0]), 32];
//       f_reverse(x, grad_x, base, tape4_s);
//   }
//
// The caller sees the parameters of a derivative made of one program, and no limit: what is
// allocated is what this run needs.

#include "ir/pipeline.h"
#include "autodiff/reverse/sweeps.h"
#include "autodiff/stages/result.h"
#include "autodiff/storage/storage.h"

#include <stdio.h>
#include <string.h>

// Sums are cut off at the largest u32: a tape of that many rows is refused when it is allocated.
static const char offsets_source[] =
    "program offsets(count: in u32[C, B, 32], base: inout u32[C, B], total: out u32[C], C: u32, B: u32)\n"
    "    workgroup(128) over(c: C, t: 128)\n"
    "{\n"
    "    shared sums: u32[128];\n"
    "    let chunk = (B + 127) / 128;\n"
    "    let first = t * chunk;\n"
    "    let last = min(first + chunk, B);\n"
    "    var sum = 0u;\n"
    "    for k in first..last {\n"
    "        var most = 0u;\n"
    "        for lane in 0..32 { most = max(most, count[c, k, lane]); }\n"
    "        base[c, k] = most;\n"
    "        sum += min(most, 4294967295u - sum);\n"
    "    }\n"
    "    sums[t] = sum;\n"
    "    barrier();\n"
    "    var at = 0u;\n"
    "    for k in 0u..t { at += min(sums[k], 4294967295u - at); }\n"
    "    for k in first..last {\n"
    "        let most = base[c, k];\n"
    "        base[c, k] = at;\n"
    "        at += min(most, 4294967295u - at);\n"
    "    }\n"
    "    if t == 127 { total[c] = at; }\n"
    "}\n";

static void fail_oom(reverse *r)
{
    vy_fail_oom(r->out);
    r->failed = true;
}

static const char *suffixed(reverse *r, const char *suffix)
{
    char text[300];
    int n = snprintf(text, sizeof text, "%.280s_%s", r->p->name, suffix);
    const char *copy = vy_arena_strdup(&r->out->arena, text, (size_t)n);
    if (!copy) fail_oom(r);
    return copy;
}

static vy_program *add_offsets(reverse *r)
{
    vy_module *m = vy_parse(offsets_source, sizeof offsets_source - 1, "offsets");
    vy_program *p = m && vy_module_ok(m) ? vy_program_clone(vy_module_program(m, 0), r->out) : NULL;
    if (p && (p->name = suffixed(r, "offsets")) && vy_vec_push(&r->out->programs, p)) {
        p->order = r->out->order;
        p->shader = r->p->shader; // bound as the other steps are
        for (uint32_t id = 1; id < p->insts.count; id++)
            p->insts.data[id].line = 0; // no user's text
    } else {
        if (!r->failed) fail_oom(r);
        vy_program_free(p);
        p = NULL;
    }
    vy_module_free(m);
    return p;
}

// ---------------------------------------------------------------------------------------- assembly
typedef struct assembly {
    reverse *r;
    vy_pipe *q;
    vy_builder *b;       // of the signature
    const vy_program *p; // the reverse program
    vy_dim *dims;        // dimension of p → of the signature; 0: not there yet
    vy_buffer *buffers;  // buffer of p → of the signature
    uint32_t *own;       // by link: buffer of p
    vy_dim *rows;        // scalar of p → what it is, for numbers of rows
    uint8_t *inner; // by buffer of p: made by differentiation, and sized or filled by the programs
                    // before; no parameter of the result
} assembly;

// Expressions of the reverse program's dimensions; their nodes refer to earlier ones.
static vy_dim dim_of(assembly *a, vy_dim d)
{
    for (uint32_t i = 1; i <= d.id; i++) {
        const vy_dim_node *n = &a->p->dims.data[i];
        if (a->dims[i].id) continue;
        if (n->op == VY_DIM_SCALAR)
            a->dims[i] = n->value < a->r->p->scalars.count
                             ? vy_dim_own_scalar(a->b, (uint32_t)n->value)
                             : a->rows[n->value];
        else if (n->op != VY_DIM_UNKNOWN)
            a->dims[i] = vy_dim_copy(a->b, n, a->dims);
        else if (i == d.id)
            a->dims[i] = vy_dim_unknown(a->b);
    }
    return a->dims[d.id];
}

static void find_inner(assembly *a, vy_program *p)
{
    for (uint32_t i = 1; i < p->buffers.count; i++) {
        vy_buf *b = &p->buffers.data[i];
        const vy_dim_node *d = &p->dims.data[b->dims[0].id];
        a->inner[i] = b->made == VY_MADE_BASE || (b->workspace && d->op == VY_DIM_SCALAR &&
                                                  d->value >= a->r->p->scalars.count);
        if (a->inner[i]) b->workspace = false;
    }
}

static void dims_of(assembly *a, uint32_t buffer, vy_dim *dims)
{
    const vy_buf *b = &a->p->buffers.data[buffer];
    for (uint32_t k = 0; k < b->rank; k++) dims[k] = dim_of(a, b->dims[k]);
}

static void declare_parameters(assembly *a)
{
    vy_dim dims[VY_MAX_RANK];
    for (uint32_t i = 0; i < a->r->p->scalars.count; i++)
        vy_param_scalar(a->b, a->p->scalars.data[i].name, a->p->scalars.data[i].type);
    for (uint32_t i = 1; i < a->p->buffers.count; i++) {
        const vy_buf *b = &a->p->buffers.data[i];
        if (!vy_is_global(b->cls) || b->workspace || a->inner[i]) continue;
        dims_of(a, i, dims);
        a->buffers[i] = vy_param_buffer(a->b, b->name, b->cls, b->type, b->rank, dims);
        vy_buffer_role(a->b, a->buffers[i], &b->role);
    }
}

// Scalars of `p`: those of the primal are the pipeline's.
static uint32_t scalars_for(assembly *a, const vy_program *p, vy_pipe_scalar *list)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->scalars.count; i++) {
        const vy_scalar_param *s = &p->scalars.data[i];
        if (i >= a->r->p->scalars.count) continue; // numbers of rows follow from the tapes
        uint32_t leaf = vy_leaf_other(a->b, VY_LEAF_SCALAR, s->type, i, 0);
        bool integer = vy_type_is_integer(s->type);
        list[n++] = (vy_pipe_scalar){
            .name = s->name,
            .kind = integer ? VY_PIPE_DIM : VY_PIPE_PARAM,
            .dim = integer ? vy_dim_value(a->b, (vy_value){leaf}) : (vy_dim){0},
            .scalar = i,
        };
    }
    return n;
}

// Dispatches a program made here: what the reverse does not have is `count`.
static void dispatch(assembly *a, const vy_program *p, vy_buffer count, vy_pipe_arg *args,
                     vy_pipe_scalar *scalars)
{
    uint32_t n = 0;
    for (uint32_t i = 1; i < p->buffers.count; i++) {
        const vy_buf *b = &p->buffers.data[i];
        if (!vy_is_global(b->cls) || b->workspace) continue;
        const uint32_t own = a->own[b->link];
        args[n++] = (vy_pipe_arg){.buffer = own ? a->buffers[own] : count};
    }
    vy_dim groups[3]; // without a domain: as many as the caller requests
    for (uint32_t k = 0; k < 3 && !p->overs.count; k++) groups[k] = vy_dim_groups(a->b, k);
    vy_pipeline_dispatch(a->q, p, n, args, scalars_for(a, p, scalars), scalars,
                         p->overs.count ? NULL : groups);
}

static void declare_tapes(assembly *a, vy_buffer total)
{
    vy_dim dims[VY_MAX_RANK];
    for (uint32_t s = a->r->p->scalars.count; s < a->p->scalars.count; s++) {
        vy_dim at = vy_dim_const(a->b, a->p->scalars.data[s].rows - 1);
        a->rows[s] = vy_pipeline_value(a->q, total, &at);
    }
    for (uint32_t i = 1; i < a->p->buffers.count; i++) {
        const vy_buf *b = &a->p->buffers.data[i];
        if (a->buffers[i].id || !a->inner[i]) continue;
        dims_of(a, i, dims);
        a->buffers[i] = vy_pipeline_buffer(a->q, b->name, b->type, b->rank, dims);
        if (a->buffers[i].id)
            vy_builder_program(a->b)->buffers.data[a->buffers[i].id].made = b->made;
    }
}

// A name for an intermediate that no parameter of the reverse has.
static const char *other_name(const assembly *a, const char *name, char text[32])
{
    snprintf(text, 32, "%s", name);
    for (uint32_t k = 1; vy_program_find_buffer(a->p, text).id; k++)
        snprintf(text, 32, "%s%u", name, k);
    return text;
}

static bool assemble(assembly *a, const vy_program *count, const vy_program *offsets,
                     vy_pipe_arg *args, vy_pipe_scalar *scalars)
{
    char text[32];
    declare_parameters(a);
    uint32_t base = vy_program_find_made(a->p, VY_MADE_BASE);
    vy_dim shape[3];
    dims_of(a, base, shape);
    shape[2] = vy_dim_const(a->b, VY_TAPE_LANES);
    vy_buffer counts = vy_pipeline_buffer(a->q, other_name(a, "count", text), VY_U32, 3, shape);
    dispatch(a, count, counts, args, scalars);
    a->buffers[base] = vy_pipeline_buffer(a->q, a->p->buffers.data[base].name, VY_U32, 2, shape);
    vy_buffer total = vy_pipeline_buffer(a->q, other_name(a, "total", text), VY_U32, 1, shape);
    vy_pipe_arg three[3] = {{.buffer = counts}, {.buffer = a->buffers[base]}, {.buffer = total}};
    vy_pipeline_dispatch(a->q, offsets, 3, three, 0, NULL, NULL);
    declare_tapes(a, total);
    dispatch(a, a->p, counts, args, scalars);
    return vy_pipeline_end(a->q) != NULL;
}

static void *table(reverse *r, uint32_t count, size_t size)
{
    void *p = vy_realloc(NULL, (count + 1) * size);
    if (p) return memset(p, 0, (count + 1) * size);
    fail_oom(r);
    return NULL;
}

static bool make_tables(assembly *a)
{
    const vy_program *p = a->p;
    a->dims = table(a->r, p->dims.count, sizeof *a->dims);
    a->buffers = table(a->r, p->buffers.count, sizeof *a->buffers);
    a->rows = table(a->r, p->scalars.count, sizeof *a->rows);
    a->inner = table(a->r, p->buffers.count, sizeof *a->inner);
    return !a->r->failed;
}

// Once all programs are there, and so all links.
static bool link_parameters(assembly *a)
{
    a->own = table(a->r, a->r->out->links, sizeof *a->own);
    for (uint32_t i = 1; a->own && i < a->p->buffers.count; i++)
        if (vy_is_global(a->p->buffers.data[i].cls)) a->own[a->p->buffers.data[i].link] = i;
    return a->own != NULL;
}

static bool make_pipeline(reverse *r, vy_program *p)
{
    assembly a = {.r = r, .p = p};
    vy_pipe_arg *args = table(r, p->buffers.count, sizeof *args);
    vy_pipe_scalar *scalars = table(r, p->scalars.count, sizeof *scalars);
    const char *name = suffixed(r, "grad");
    vy_program *count = name && make_tables(&a) ? vy_reverse_count(r) : NULL;
    bool ok = count && vy_reverse_finish(r, count);
    const vy_program *offsets = ok ? add_offsets(r) : NULL;
    ok = offsets && vy_vec_push(&r->out->programs, p);
    if (!ok) vy_program_free(p);
    if (offsets && !ok) fail_oom(r);
    ok = ok && link_parameters(&a);
    if (ok) a.q = vy_pipeline_begin(r->out, name);
    if (a.q) {
        a.b = vy_pipeline_params(a.q);
        find_inner(&a, p);
        ok = assemble(&a, count, offsets, args, scalars);
    } else {
        ok = false;
    }
    vy_free(args);
    vy_free(scalars);
    vy_free(a.dims);
    vy_free(a.buffers);
    vy_free(a.rows);
    vy_free(a.inner);
    vy_free(a.own);
    return ok;
}

bool vy_reverse_result(reverse *r, vy_program *p)
{
    if (!vy_reverse_finish(r, p)) return false;
    build_purpose asks = vy_extremum_asks(p);
    if (!vy_program_find_made(p, VY_MADE_BASE)) {
        p->exact = r->p->exact; // no counting program needs bit-equal branches
        return vy_extremum_stages(r, p, asks);
    }
    r->out->programs.count--; // it comes last
    p->name = suffixed(r, "reverse");
    if (p->name) return make_pipeline(r, p) && vy_extremum_stages(r, p, asks);
    vy_program_free(p);
    return false;
}

// SPDX-License-Identifier: MIT
// print_dim.c: dimensions as text.
#include "ir/text/print.h"

#include <stdio.h>

static int dim_precedence(const vy_dim_node *n)
{
    if (n->op >= VY_DIM_ADD && n->op <= VY_DIM_SUB) return 1;
    return n->op >= VY_DIM_MUL && n->op <= VY_DIM_REM ? 2 : 3;
}

static void print_dim_leaf(printer *o, const vy_dim_node *n, uint32_t depth)
{
    char text[24];
    switch (n->op) {
    case VY_DIM_CONST:
        snprintf(text, sizeof text, n->value < 0 ? "(%lld)" : "%lld", (long long)n->value);
        print_str(o, text);
        return;
    case VY_DIM_SCALAR: print_identifier(o, o->p->scalars.data[n->value].name); return;
    case VY_DIM_UNKNOWN:
        print_str(o, "len(");
        print_identifier(o, o->p->buffers.data[n->value].name);
        if (print_rank(o, &o->p->buffers.data[n->value]) > 1) print_str(o, ", 0");
        print_str(o, ")");
        return;
    case VY_DIM_GROUPS:
        snprintf(text, sizeof text, "num_groups.%c", "xyz"[n->value]);
        print_str(o, text);
        return;
    case VY_DIM_STEP: print_number(o, n->value, depth); return;
    default:
        print_str(o, n->op == VY_DIM_MIN ? "min(" : n->op == VY_DIM_MAX ? "max(" : "isqrt(");
        print_dim(o, n->a, 0, depth + 1);
        if (n->op != VY_DIM_SQRT) {
            print_str(o, ", ");
            print_dim(o, n->b, 0, depth + 1);
        }
        print_str(o, ")");
    }
}

// Long sums lean to the left: only right operands recurse.
void print_dim(printer *o, uint32_t d, int outer, uint32_t depth)
{
    static const char *const texts[] = {" + ", " - ", " * ", " / ", " % "};
    const vy_dim_node *nodes = o->p->dims.data;
    const int caller = outer;
    vy_id_vec spine = {0};
    if (depth > 3000) o->failed = true; // no text nests so deeply
    for (; dim_precedence(&nodes[d]) < 3 && !o->failed; d = nodes[d].a) {
        int mine = dim_precedence(&nodes[d]);
        if (mine < outer) print_str(o, "(");
        outer = mine;
        if (!vy_vec_push(&spine, d)) o->failed = true;
    }
    if (!o->failed) print_dim_leaf(o, &nodes[d], depth);
    while (spine.count > 0 && !o->failed) {
        const vy_dim_node *n = &nodes[spine.data[--spine.count]];
        int mine = dim_precedence(n);
        print_str(o, texts[n->op - VY_DIM_ADD]);
        print_dim(o, n->b, mine + 1, depth + 1);
        // Closed if the next outer operator binds tighter.
        int around = spine.count ? dim_precedence(&nodes[spine.data[spine.count - 1]]) : caller;
        if (mine < around) print_str(o, ")");
    }
    vy_vec_free(&spine);
}

void print_dims(printer *o, const vy_buf *b)
{
    print_str(o, "[");
    for (uint32_t k = 0; k < print_rank(o, b); k++) {
        const vy_dim_node *n = &o->p->dims.data[b->dims[k].id];
        if (k) print_str(o, ", ");
        bool own = n->op == VY_DIM_UNKNOWN && b == &o->p->buffers.data[n->value];
        if (own)
            print_str(o, "?");
        else
            print_dim(o, b->dims[k].id, 0, 0);
    }
    print_str(o, "]");
}

void print_step_element(printer *o, const vy_pipe_step *s, uint32_t depth)
{
    print_str(o, "value(");
    print_identifier(o, o->p->buffers.data[s->buffer.id].name);
    for (uint32_t k = 0; k < s->index_count; k++) {
        print_str(o, k ? ", " : "[");
        print_dim(o, s->index[k].id, 0, depth + 1);
    }
    print_str(o, "])");
}

void print_number(printer *o, int64_t step, uint32_t depth)
{
    uint32_t name = o->numbers ? o->numbers[step] : 0;
    const vy_pipe_step *s = o->pipeline ? &o->pipeline->steps.data[step] : NULL;
    if (name)
        print_name_of(o, name);
    else if (s && s->kind == VY_PIPE_REPEAT) // alone, outside of its text
        print_identifier(o, s->counter);
    else if (o->pipeline && depth < 3000)
        print_step_element(o, s, depth + 1);
    else
        o->failed = true;
}

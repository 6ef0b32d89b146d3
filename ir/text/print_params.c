// SPDX-License-Identifier: MIT
// print_params.c: parameters that are vectors.
//
//   `dir.0`: f32, `dir.1`: f32, `dir.2`: f32      let dir = vec3(`dir.0`, `dir.1`, `dir.2`);
//                                                 v = v * dir;
//
// A program has no such parameters (ir/core/vector_params.h), but a name for their components is no
// instruction: it is declared where one operation takes all of them.
#include "ir/text/print.h"

#include <string.h>

bool print_find_params(printer *o)
{
    const size_t n = o->p->scalars.count + 1;
    o->params = vy_realloc(NULL, n * sizeof *o->params);
    o->param_name = vy_realloc(NULL, n * sizeof *o->param_name);
    if (!o->params || !o->param_name) return false;
    memset(o->param_name, 0, n * sizeof *o->param_name);
    vy_vector_params(o->p, o->params);
    return true;
}

bool print_is_param(const printer *o, const uint32_t *values, uint32_t n)
{
    const vy_vector_param *first = vy_vector_param_of(o->p, o->params, values[0]);
    if (!first || first->n != n) return false;
    for (uint32_t k = 0; k < n; k++) {
        const vy_vector_param *v = vy_vector_param_of(o->p, o->params, values[k]);
        if (!v || v->first != first->first || v->lane != k + 1) return false;
    }
    return true;
}

// The vector that operand k of a group is; 0: it is none, else 1 + its first scalar.
static uint32_t taken(const printer *o, uint32_t id, uint32_t k)
{
    uint32_t values[VY_MOST_COMPONENTS];
    const uint32_t n = o->lanes[id];
    for (uint32_t j = 0; j < n; j++) values[j] = print_arg(o, id + j, k);
    if (!print_is_param(o, values, n)) return 0;
    return vy_vector_param_of(o->p, o->params, values[0])->first + 1;
}

static void declare(printer *o, uint32_t first)
{
    const vy_vector_param *v = &o->params[first];
    const vy_scalar_param *s = &o->p->scalars.data[first];
    char text[80] = {0};
    const size_t length = vy_vector_param_stem(s->name);
    if (length >= sizeof text) return;
    memcpy(text, s->name, length);
    const uint32_t name = print_names_unique(o, text);
    print_indent(o);
    print_str(o, "let ");
    print_name_of(o, name);
    print_str(o, " = ");
    print_vector_type(o, s->type, v->n);
    for (uint32_t k = 0; k < v->n; k++) {
        print_str(o, k ? ", " : "(");
        print_identifier(o, s[k].name);
    }
    print_str(o, ");\n");
    o->param_name[first] = name;
}

void print_params(printer *o)
{
    for (uint32_t id = 1; o->params && id < o->p->insts.count; id++) {
        const vy_inst *i = &o->p->insts.data[id];
        if (!o->lanes[id] || vy_op_infos[i->op].effect == VY_CTRL) continue;
        for (uint32_t k = 0; k < i->nargs; k++) {
            const uint32_t first = taken(o, id, k);
            if (first && !o->param_name[first - 1]) declare(o, first - 1);
        }
    }
}

bool print_param(printer *o, const vy_leaf *l)
{
    const vy_vector_param *v = o->params && o->params[l->index].lane ? &o->params[l->index] : NULL;
    if (!print_param_name(o, v)) return false;
    print_name_of(o, print_param_name(o, v));
    print_component(o, v->lane - 1u);
    return true;
}

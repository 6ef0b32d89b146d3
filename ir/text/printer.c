// SPDX-License-Identifier: MIT
// printer.c: the tables of a printer of a program.
#include "ir/text/print.h"

#include <string.h>

bool print_tables(printer *o)
{
    size_t n = o->p->insts.count;
    size_t words = (n + 2) + 4 * n + (n + 1) / 2 + (n + 3) / 4 * 5;
    const size_t buffers = o->p->buffers.count;
    words += buffers + (buffers + 3) / 4;
    o->block = vy_realloc(NULL, words * sizeof *o->block);
    if (!o->block) return false;
    memset(o->block, 0, words * sizeof *o->block);
    o->use_start = o->block;
    o->var = o->use_start + n + 2;
    o->name = o->var + n;
    o->made = o->name + n;
    o->slot = o->made + n;
    o->array_name = o->slot + n;
    o->width = (uint16_t *)(o->array_name + buffers);
    o->height = (uint8_t *)(o->width + (n + 1) / 2 * 2);
    o->inlined = o->height + (n + 3) / 4 * 4;
    o->lanes = o->inlined + (n + 3) / 4 * 4;
    o->lane = o->lanes + (n + 3) / 4 * 4;
    o->turned = o->lane + (n + 3) / 4 * 4;
    o->vector = o->turned + (n + 3) / 4 * 4;
    return vy_structure_make(o->p, &o->s);
}

void print_free(printer *o)
{
    vy_structure_free(&o->s);
    vy_free(o->block);
    vy_free(o->uses);
    vy_free(o->params);
    vy_free(o->param_name);
    vy_vec_free(&o->makes);
    vy_vec_free(&o->pending);
    vy_vec_free(&o->vars);
    vy_vec_free(&o->slots);
    vy_vec_free(&o->frames);
    vy_vec_free(&o->order);
    vy_vec_free(&o->aliases);
    print_names_free(&o->names);
}

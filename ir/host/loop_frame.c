// SPDX-License-Identifier: MIT
// loop_frame.c: the steps of a loop, to be appended another time.
//
// Between the begin and the end of a frame, what the loop's own steps stand for is open: the
// numbers that they give, the dimensions made of those, the buffers that they begin.  The end
// restores it. All of it takes time in proportion to the loop, not to the pipeline.
#include "ir/build/edit.h"
#include "ir/core/dims.h"
#include "ir/core/pipe.h"
#include "ir/host/counting.h"

#include <stdlib.h>
#include <string.h>

// ------------------------------------------------------------------------------------- dimensions
// The last step whose number each dimension is made of; UINT32_MAX: of none.
static uint32_t *find_last_steps(inlining *c)
{
    uint32_t *last = inline_room(c, c->sig->dims.count, sizeof *last);
    for (uint32_t i = 0; last && i < c->sig->dims.count; i++) {
        const vy_dim_node *d = &c->sig->dims.data[i];
        last[i] = d->op == VY_DIM_STEP ? (uint32_t)d->value : UINT32_MAX;
        if (d->op < VY_DIM_ADD) continue;
        const uint32_t a = last[d->a], b = last[d->b];
        last[i] = a == UINT32_MAX || (b != UINT32_MAX && b > a) ? b : a;
    }
    return last;
}

// Lists the dimensions of each step, in their order: a counting sort.
void counting_find_dims(counting *w)
{
    inlining *c = &w->c;
    const uint32_t steps = c->l->steps.count, dims = c->sig->dims.count;
    const uint32_t *last = find_last_steps(c);
    uint32_t *ends = inline_room(c, steps + 2, sizeof *ends); // ends[s + 1]: of the list of s
    w->dims = inline_room(c, dims, sizeof *w->dims);
    if (counting_stopped(w)) return;
    for (uint32_t i = 1; i < dims; i++)
        if (last[i] != UINT32_MAX) ends[last[i] + 1]++;
    for (uint32_t s = 0; s <= steps; s++) ends[s + 1] += ends[s];
    for (uint32_t i = dims; i-- > 1;) // from its end each; then ends[s + 1] is where it begins
        if (last[i] != UINT32_MAX) w->dims[--ends[last[i] + 1]] = i;
    w->first_dim = ends + 1;
}

void counting_numbers_known(counting *w, uint32_t step)
{
    for (uint32_t i = w->first_dim[step]; i < w->first_dim[step + 1] && !counting_stopped(w); i++)
        inline_dim(&w->c, (vy_dim){w->dims[i]});
}

// ---------------------------------------------------------------------------------------- buffers
static int by_number(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

// The buffers that the step mentions, to `list` unless it is NULL; how many.
static uint32_t mentioned(const inlining *c, const vy_pipe_step *s, uint32_t *list)
{
    if (s->kind == VY_PIPE_VALUE || s->kind == VY_PIPE_BUFFER) {
        const vy_buf *b = &c->sig->buffers.data[s->buffer.id];
        const bool copies = s->kind == VY_PIPE_BUFFER && b->init == VY_INIT_COPY;
        if (list) list[0] = s->buffer.id;
        if (list && copies) list[1] = vy_program_find_buffer(c->sig, b->init_from).id;
        return copies ? 2 : 1;
    }
    if (s->kind != VY_PIPE_DISPATCH) return 0;
    for (uint32_t k = 0; list && k < s->arg_count; k++) list[k] = s->args[k].buffer.id;
    return s->arg_count;
}

static void find_buffers(counting *w, loop_frame *f)
{
    const vy_pipe_step *steps = w->c.l->steps.data;
    uint32_t count = 0, n = 0;
    for (uint32_t i = f->at; i < f->end; i++) count += mentioned(&w->c, &steps[i], NULL);
    f->buffers = inline_room(&w->c, count, sizeof *f->buffers);
    for (uint32_t i = f->at; f->buffers && i < f->end; i++)
        n += mentioned(&w->c, &steps[i], f->buffers + n);
    if (!f->buffers) return;
    qsort(f->buffers, n, sizeof *f->buffers, by_number);
    for (uint32_t i = 0; i < n; i++)
        if (!i || f->buffers[i] != f->buffers[i - 1]) f->buffers[f->count++] = f->buffers[i];
}

// ------------------------------------------------------------------------------------- the frame
bool counting_frame_begin(counting *w, uint32_t at, loop_frame *f)
{
    inlining *c = &w->c;
    *f = (loop_frame){.at = at, .end = c->l->steps.data[at].partner + 1};
    if (counting_stopped(w)) return false;
    const uint32_t steps = f->end - at;
    const uint32_t *dims = w->dims + w->first_dim[at];
    const uint32_t dim_count = w->first_dim[f->end] - w->first_dim[at];
    find_buffers(w, f);
    f->steps = inline_room(c, steps, sizeof *f->steps);
    f->dims = inline_room(c, dim_count, sizeof *f->dims);
    f->places = inline_room(c, f->count, sizeof *f->places);
    if (counting_stopped(w)) return false;
    memcpy(f->steps, c->steps + at, steps * sizeof *f->steps);
    for (uint32_t i = 0; i < dim_count; i++) {
        f->dims[i] = c->dims[dims[i]];
        c->dims[dims[i]] = (vy_dim){0};
    }
    for (uint32_t i = 0; i < f->count; i++) f->places[i] = c->places[f->buffers[i]];
    return true;
}

void counting_frame_end(counting *w, const loop_frame *f)
{
    inlining *c = &w->c;
    const uint32_t *dims = w->dims + w->first_dim[f->at];
    const uint32_t dim_count = w->first_dim[f->end] - w->first_dim[f->at];
    memcpy(c->steps + f->at, f->steps, (f->end - f->at) * sizeof *f->steps);
    for (uint32_t i = 0; i < dim_count; i++) c->dims[dims[i]] = f->dims[i];
    for (uint32_t i = 0; i < f->count; i++) c->places[f->buffers[i]] = f->places[i];
}

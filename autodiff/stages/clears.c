// SPDX-License-Identifier: MIT
// clears.c: no stage throws away what an earlier one has written.
//
//   f_sums(x, w, grad_x, terms);           writes grad_x: out
//   f_parts(grad_x, terms, parts);         takes it as `out` too: the dispatch clears it first
//
// A dispatch clears what it takes as `out`, whether its program writes there or not.  So a stage
// takes as `out` only what it is the first to write; vy_drop_stage sees to that.  Should it ever
// fail, the result would be zeros without a word; here it is an error.
#include "autodiff/stages/stages_build.h"

// By link: 1 + a stage that has written the buffer.
typedef struct writers {
    uint32_t *always, *sometimes; // the latter: where sizes decide whether it runs
} writers;

static const char *name_of(vy_program *const *stages, uint32_t writer)
{
    return stages[writer - 1]->name;
}

// Does stage k throw away nothing?  written: by its buffers.
static bool keeps(vy_module *m, vy_program *const *stages, uint32_t k, bool runs_always,
                  const uint8_t *written, const writers *w)
{
    const vy_program *p = stages[k];
    for (uint32_t i = 1; i < p->buffers.count; i++) {
        const vy_buf *b = &p->buffers.data[i];
        if (b->cls != VY_OUT || b->workspace) continue;
        uint32_t writer = w->always[b->link];
        // Two forms of one program, of which sizes choose one, both write all of it.
        if (!writer && (runs_always || !written[i])) writer = w->sometimes[b->link];
        if (!writer) continue;
        vy_fail(m, VY_E_INTERNAL, 0, 0, NULL, "stage `%s` clears `%s`, which `%s` writes", p->name,
                b->name, name_of(stages, writer));
        return false;
    }
    return true;
}

// Fills `written` by the buffers of p.
static void find_written(const vy_program *p, uint8_t *written)
{
    for (uint32_t i = 0; i < p->buffers.count; i++) written[i] = 0;
    for (uint32_t id = 1; id < p->insts.count; id++)
        if (vy_op_infos[p->insts.data[id].op].effect == VY_WRITE)
            written[p->insts.data[id].aux] = 1;
}

bool vy_stages_keep(vy_module *m, vy_program *const *stages, const vy_dim *iterations,
                    uint32_t count)
{
    uint32_t most = 0;
    for (uint32_t k = 0; k < count; k++)
        if (most < stages[k]->buffers.count) most = stages[k]->buffers.count;
    writers w = {cut_table(m, m->links, sizeof *w.always),
                 cut_table(m, m->links, sizeof *w.sometimes)};
    uint8_t *written = cut_table(m, most, 1);
    bool ok = w.always && w.sometimes && written;
    for (uint32_t k = 0; ok && k < count; k++) {
        const bool runs_always = !iterations || !iterations[k].id;
        find_written(stages[k], written);
        ok = keeps(m, stages, k, runs_always, written, &w);
        for (uint32_t i = 1; i < stages[k]->buffers.count; i++)
            if (written[i])
                (runs_always ? w.always : w.sometimes)[stages[k]->buffers.data[i].link] = k + 1;
    }
    vy_free(w.always);
    vy_free(w.sometimes);
    vy_free(written);
    return ok;
}

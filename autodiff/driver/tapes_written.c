// SPDX-License-Identifier: MIT
// tapes_written.c: a derivative writes the tapes that it reads.
//
//   f_reverse(x, grad_x, base, tape1);     loads tape1[…], and stores it in its forward sweep
//   f_gather(kept1, grad_w);               loads what f_reverse stores
//
// Code is moved between programs, versions and loops after the storage plan has chosen what is
// kept.  A tape whose store is lost on the way holds zeros, and so would the gradient, without a
// word.  Here that is an error.  The same holds for all workspaces that begin as zeros: one that
// nothing adds to has no adjoint to be read.  Which program of the module stores does not matter.
#include "autodiff/driver/tapes_written.h"
#include "ir/core/mem.h"
#include "ir/core/op_info.h"

// By link: is read as a workspace; is written, or begins as something else than zeros in a program,
// which need not be the one that reads it.
typedef struct links {
    uint8_t *read, *written;
} links;

static void find(const vy_program *p, links *l)
{
    for (uint32_t i = 1; i < p->buffers.count; i++)
        if (p->buffers.data[i].init != VY_INIT_NONE) l->written[p->buffers.data[i].link] = 1;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_inst *i = &p->insts.data[id];
        if (!vy_op_is_memory((vy_op)i->op)) continue;
        const vy_buf *b = &p->buffers.data[i->aux];
        if (vy_op_infos[i->op].effect == VY_WRITE)
            l->written[b->link] = 1;
        else if (b->workspace && vy_is_global(b->cls))
            l->read[b->link] = 1;
    }
}

static bool check(vy_module *m, const vy_program *p, const links *l)
{
    for (uint32_t i = 1; i < p->buffers.count; i++) {
        const vy_buf *b = &p->buffers.data[i];
        if (!l->read[b->link] || l->written[b->link]) continue;
        vy_fail(m, VY_E_INTERNAL, 0, 0, NULL, "`%s` of program `%s` is read, and nothing writes it",
                b->name, p->name);
        return false;
    }
    return true;
}

// Host programs have dispatches that write.
bool vy_tapes_written(vy_module *m)
{
    const size_t count = (size_t)m->links + 1;
    links l = {.read = vy_zeroed(2 * count)};
    bool ok = l.read != NULL;
    if (ok)
        l.written = l.read + count;
    else
        vy_fail_oom(m);
    for (uint32_t k = 0; ok && k < m->programs.count; k++)
        if (!m->programs.data[k]->host) find(m->programs.data[k], &l);
    for (uint32_t k = 0; ok && k < m->programs.count; k++)
        ok = m->programs.data[k]->host || check(m, m->programs.data[k], &l);
    vy_free(l.read);
    return ok;
}

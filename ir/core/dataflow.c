// SPDX-License-Identifier: MIT
// dataflow.c: see dataflow.h.
#include "ir/core/dataflow.h"

// Both tables are made in two runs over the program: the first counts, the second goes backwards
// and fills each list from its end, which leaves it in program order.
typedef struct filler {
    uint32_t *first, *list; // list: NULL while counting
} filler;

static void put(filler *f, uint32_t row, uint32_t entry)
{
    if (f->list)
        f->list[--f->first[row]] = entry;
    else
        f->first[row]++;
}

static void put_use(filler *f, uint32_t value, uint32_t user)
{
    if (!VY_IS_LEAF(value)) put(f, value, user);
}

static void put_uses(const vy_dataflow *d, filler *f, uint32_t id)
{
    const vy_program *p = d->p;
    vy_op op = (vy_op)p->insts.data[id].op;
    uint32_t sources[3], n = p->insts.data[id].nargs, user = id;
    if (vy_is_slot(op)) {
        n = vy_slot_sources(p, d->s, id, sources);
        for (uint32_t k = 0; k < n; k++) put_use(f, sources[k], id);
        return;
    }
    if (vy_is_marker(op)) {
        n = vy_control_args(p, d->s, id);
        user = vy_opener(p, d->s, id);
    }
    for (uint32_t k = 0; k < n; k++) put_use(f, vy_arg(p, id, k), user);
}

static void put_access(const vy_dataflow *d, filler *f, uint32_t id)
{
    const vy_inst *i = &d->p->insts.data[id];
    if (vy_op_is_memory((vy_op)i->op)) put(f, i->aux, id);
}

// Makes the rows of a table; `run` puts the entries of one instruction.
static bool make(const vy_dataflow *d, vy_arena *arena, uint32_t rows, uint32_t **first,
                 uint32_t **list, void (*run)(const vy_dataflow *d, filler *f, uint32_t id))
{
    filler f = {.first = vy_arena_alloc(arena, ((size_t)rows + 1) * sizeof *f.first)};
    if (!f.first) return false;
    for (uint32_t id = 1; id < d->p->insts.count; id++) run(d, &f, id);
    uint32_t total = 0;
    for (uint32_t row = 0; row <= rows; row++) f.first[row] = total += f.first[row];
    f.list = vy_arena_alloc(arena, ((size_t)total + 1) * sizeof *f.list);
    if (!f.list) return false;
    for (uint32_t id = d->p->insts.count; id-- > 1;) run(d, &f, id);
    *first = f.first;
    *list = f.list;
    return true;
}

bool vy_dataflow_make(vy_dataflow *d, const vy_program *p, const vy_structure *s, vy_arena *arena)
{
    uint32_t n = p->insts.count;
    *d = (vy_dataflow){.p = p, .s = s};
    d->work = vy_arena_alloc(arena, (size_t)n * sizeof *d->work);
    d->waits = vy_arena_alloc(arena, n);
    return d->work && d->waits && make(d, arena, n, &d->first_user, &d->users, put_uses) &&
           make(d, arena, p->buffers.count, &d->first_access, &d->accesses, put_access);
}

// In reverse, as the worklist is a stack: the first instruction is visited first.
void vy_dataflow_push_all(vy_dataflow *d)
{
    for (uint32_t id = d->p->insts.count; id-- > 1;) vy_dataflow_push(d, id);
}

void vy_dataflow_push_users(vy_dataflow *d, uint32_t id)
{
    for (uint32_t k = d->first_user[id]; k < d->first_user[id + 1]; k++)
        vy_dataflow_push(d, d->users[k]);
}

void vy_dataflow_push_accesses(vy_dataflow *d, uint32_t buffer)
{
    for (uint32_t k = d->first_access[buffer]; k < d->first_access[buffer + 1]; k++)
        vy_dataflow_push(d, d->accesses[k]);
}

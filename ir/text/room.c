// SPDX-License-Identifier: MIT
// room.c: memory for the scalars of values while they are lowered: a stack of its own, as the size
// of a value is not known and lowering recurses.
#include "ir/text/lower.h"

#include <string.h>

enum { CHUNK = 1 << 14 }; // bytes

vy_room_mark vy_room_here(const vy_lower *l)
{
    const vy_room *r = l->f->room;
    return (vy_room_mark){r, r ? r->used : 0};
}

// A chunk on top, a kept one if that is large enough.
static vy_room *push(vy_front *f, size_t size)
{
    vy_room *r = f->spare;
    f->spare = NULL;
    if (!r || r->size < size) {
        vy_free(r);
        r = vy_realloc(NULL, sizeof *r + (size > CHUNK ? size : CHUNK));
        if (!r) return NULL;
        r->size = size > CHUNK ? size : CHUNK;
    }
    r->used = 0;
    r->below = f->room;
    return f->room = r;
}

void *vy_room_take(vy_lower *l, uint32_t n)
{
    vy_front *f = l->f;
    const size_t size = (n / 2 + (size_t)1) * sizeof(void *); // aligned for pointers
    vy_room *r = f->room && f->room->size - f->room->used >= size ? f->room : push(f, size);
    if (!r) {
        vy_fail_oom(f->m);
        f->failed = true;
        return f->dummy; // of VY_MAX_SCALARS
    }
    void *p = (char *)(r + 1) + r->used;
    r->used += size;
    return memset(p, 0, size);
}

void vy_room_back(vy_lower *l, vy_room_mark mark)
{
    vy_front *f = l->f;
    while (f->room && f->room != mark.chunk) {
        vy_room *top = f->room;
        f->room = top->below;
        vy_free(f->spare);
        f->spare = top;
    }
    if (f->room) f->room->used = mark.used;
}

void vy_room_free(vy_front *f)
{
    for (vy_room *r; (r = f->room); vy_free(r)) f->room = r->below;
    vy_free(f->spare);
    f->spare = NULL;
}

// SPDX-License-Identifier: MIT
// slices.c: which slices of one buffer are equal, and which are surely different.
#include "ir/core/flow.h"
#include "ir/host/host_build.h"

#include <string.h>

bool vy_host_same_slice(const vy_program *h, uint32_t x, uint32_t y)
{
    const uint32_t n = vy_index_count(h, x);
    return h->insts.data[x].aux == h->insts.data[y].aux && n == vy_index_count(h, y) &&
           (n == 0 || memcmp(vy_args(h, x), vy_args(h, y), n * sizeof(uint32_t)) == 0);
}

uint32_t vy_host_base(const vy_program *h, uint32_t id, int64_t *offset)
{
    *offset = 0;
    for (;;) {
        int64_t c;
        if (VY_IS_LEAF(id) && vy_id_int(h, id, &c)) {
            *offset += c;
            return 0;
        }
        if (VY_IS_LEAF(id)) return id;
        const vy_inst *i = &h->insts.data[id];
        const bool sum = i->op == VY_OP_ADD || i->op == VY_OP_SUB;
        if (!sum || !vy_id_int(h, vy_arg(h, id, 1), &c)) return id;
        *offset += i->op == VY_OP_ADD ? c : -c;
        id = vy_arg(h, id, 0);
    }
}

// Are the two integers surely different: x + 1 and x + 2, or (x + 1) % 2 and x % 2?
static bool differ(const vy_program *h, uint32_t x, uint32_t y)
{
    int64_t a, b, m;
    if (vy_host_base(h, x, &a) == vy_host_base(h, y, &b)) return a != b;
    if (VY_IS_LEAF(x) || VY_IS_LEAF(y)) return false;
    const bool rems = h->insts.data[x].op == VY_OP_REM && h->insts.data[y].op == VY_OP_REM;
    if (!rems || vy_arg(h, x, 1) != vy_arg(h, y, 1) || !vy_id_int(h, vy_arg(h, x, 1), &m) || m <= 0)
        return false;
    return vy_host_base(h, vy_arg(h, x, 0), &a) == vy_host_base(h, vy_arg(h, y, 0), &b) &&
           (a - b) % m != 0;
}

bool vy_host_other_slice(const vy_program *h, uint32_t x, uint32_t y)
{
    const uint32_t n = vy_index_count(h, x), m = vy_index_count(h, y);
    for (uint32_t k = 0; k < n && k < m; k++)
        if (differ(h, vy_arg(h, x, k), vy_arg(h, y, k))) return true;
    return false;
}

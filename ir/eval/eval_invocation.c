// SPDX-License-Identifier: MIT
// eval_invocation.c: coordinates of an invocation in its workgroup, the launch and the domain.
#include "ir/eval/eval.h"

#include <inttypes.h>
#include <stdio.h>

bool vy_eval_locate(const vy_machine *m, const uint64_t group_id[3], uint32_t linear,
                    uint64_t gid[3])
{
    bool inside = true;
    for (uint32_t k = 0; k < 3; k++) {
        gid[k] = group_id[k] * m->workgroup[k] + m->lids[3 * (size_t)linear + k];
        inside &= gid[k] < m->size[k];
    }
    return inside;
}

// The value of over variable k: the last is x, the one before y, the others share z, row-major.
uint64_t vy_eval_over(const vy_machine *m, uint32_t k, const uint64_t gid[3])
{
    const uint32_t from_end = m->p->overs.count - 1 - k;
    if (from_end < 2) return gid[from_end];
    uint64_t z = gid[2];
    for (uint32_t j = m->p->overs.count - 3; j > k; j--) z /= m->extents[j];
    return z % m->extents[k];
}

void vy_eval_group_position(const vy_machine *m, uint64_t group, uint64_t id[3])
{
    id[0] = group % m->groups[0];
    id[1] = group / m->groups[0] % m->groups[1];
    id[2] = group / m->groups[0] / m->groups[1];
}

void vy_eval_who(const vy_machine *m, uint32_t invocation, char *out, size_t size)
{
    const uint32_t lanes = m->workgroup[0] * m->workgroup[1] * m->workgroup[2];
    uint64_t id[3], gid[3];
    size_t n = 0;
    vy_eval_group_position(m, (invocation - 1) / lanes, id);
    vy_eval_locate(m, id, (invocation - 1) % lanes, gid);
    if (m->p->overs.count == 0)
        snprintf(out, size, "gid %" PRIu64 ", %" PRIu64 ", %" PRIu64, gid[0], gid[1], gid[2]);
    for (uint32_t k = 0; k < m->p->overs.count && n < size; k++)
        n += (size_t)snprintf(out + n, size - n, "%s%.20s=%" PRIu64, k ? ", " : "",
                              m->p->overs.data[k].name, vy_eval_over(m, k, gid));
}

// SPDX-License-Identifier: MIT
// vector_params.c: see vector_params.h.
#include "ir/core/vector_params.h"

#include <string.h>

// Is `name` component k of what `first` is component 0 of: v.1 and v.0, v_y and v_x, vy and vx?
static bool goes_on(const char *first, const char *name, uint32_t k)
{
    const size_t n = strlen(first);
    if (n < 2 || strlen(name) != n || memcmp(first, name, n - 1) != 0) return false;
    if (first[n - 2] == '.') return first[n - 1] == '0' && name[n - 1] == (char)('0' + k);
    return first[n - 1] == 'x' && name[n - 1] == "xyzw"[k];
}

size_t vy_vector_param_stem(const char *first)
{
    const size_t n = strlen(first);
    return n - (n > 2 && strchr("._", first[n - 2]) ? 2 : 1);
}

const vy_vector_param *vy_vector_param_of(const vy_program *p, const vy_vector_param *params,
                                          uint32_t value)
{
    if (!params || !VY_IS_LEAF(value)) return NULL;
    const vy_leaf *l = &p->leaves.data[VY_LEAF_INDEX(value)];
    if (l->kind != VY_LEAF_SCALAR || !params[l->index].lane) return NULL;
    return &params[l->index];
}

void vy_vector_params(const vy_program *p, vy_vector_param *params)
{
    const uint32_t count = p->scalars.count;
    memset(params, 0, count * sizeof *params);
    for (uint32_t i = 0, n; i < count; i += n) {
        const vy_scalar_param *first = &p->scalars.data[i];
        n = 1;
        if (!vy_vector_prefix(first->type)) continue;
        while (n < VY_MOST_COMPONENTS && i + n < count &&
               p->scalars.data[i + n].type == first->type &&
               goes_on(first->name, p->scalars.data[i + n].name, n))
            n++;
        for (uint32_t k = 0; n > 1 && k < n; k++)
            params[i + k] =
                (vy_vector_param){.first = i, .n = (uint8_t)n, .lane = (uint8_t)(k + 1)};
    }
}

// SPDX-License-Identifier: MIT
// deterministic_copy.c: deterministic.h: any module with its sums in an order, as a copy.
#include "autodiff/deterministic.h"

#include "ir/core/pipe.h"
#include "autodiff/core/reverse.h"
#include "autodiff/deterministic/sums.h"
#include "autodiff/transform.h"

#include <string.h>

static vy_module *copy_of(const vy_module *m)
{
    size_t size;
    void *bytes = vy_binary_write(m, &size);
    vy_module *out = bytes ? vy_binary_read(bytes, size) : NULL;
    vy_free(bytes);
    return out;
}

// Leaves program `name` alone in the module; true where there is none of that name.
static bool keep_program(vy_module *m, const char *name)
{
    vy_program *keep = name ? vy_module_find(m, name) : NULL;
    if (!keep) return true;
    for (uint32_t i = 0; i < m->pipelines.count; i++) vy_pipeline_free(m->pipelines.data[i]);
    m->pipelines.count = 0;
    for (uint32_t i = 0; i < m->programs.count; i++)
        if (m->programs.data[i] != keep) vy_program_free(m->programs.data[i]);
    m->programs.data[0] = keep;
    m->programs.count = 1;
    return true;
}

// A pipeline with what it dispatches: sums of other programs need no order.
static vy_module *alone(const vy_module *m, const char *name, vy_diag *diag)
{
    vy_module *out = NULL;
    uint32_t at = 0;
    while (name && at < m->pipelines.count && strcmp(m->pipelines.data[at]->name, name)) at++;
    if (!name || at == m->pipelines.count) return copy_of(m);
    return vy_module_extract(m, (vy_ref){at, true}, &out, diag) ? out : NULL;
}

vy_module *vy_deterministic(const vy_module *m, const char *name, vy_diag *diag)
{
    *diag = (vy_diag){0};
    vy_module *out = alone(m, name, diag);
    bool ok = out && vy_module_ok(out) && keep_program(out, name) && vy_order_sums(out, false);
    if (ok) return out;
    if (out && !vy_module_ok(out))
        *diag = out->diag;
    else
        vy_diag_set(diag, VY_E_MEMORY, 0, 0, NULL, "out of memory");
    vy_module_free(out);
    return NULL;
}

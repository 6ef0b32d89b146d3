// SPDX-License-Identifier: MIT
// check_derive.c: the derivatives that `vyre-grad check` compares.
#include "tools/check.h"

bool check_derive(checking *k, command *c, bool value, bool seeded, uint64_t order, derivative *out,
                  vy_diag *d)
{
    names seeds = {0};
    const options asked = c->o;
    bool ok = true;
    for (uint32_t i = 0; ok && i < k->ct.count; i++)
        ok = names_add(&seeds, k->ct.data[i].name) || fail_memory(d);
    c->o.with_value = value;
    c->o.order = order;
    if (seeded) c->o.seed = SEED_BUFFER;
    ok = ok && derive(c, k->source, &seeds, d);
    c->o = asked;
    names_free(&seeds);
    out->module = c->work.derived;
    c->work.derived = NULL;
    if (ok) out->what = vys_entry_result(out->module);
    return ok;
}

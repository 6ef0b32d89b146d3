// SPDX-License-Identifier: MIT
// check_derive.c: the derivatives that `vyre-grad check` compares.
#include "tools/verbs/check/check.h"

#include <stdio.h>

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

bool check_derive_forward(checking *k, command *c, vy_diag *d)
{
    names none = {0};
    vy_diag why = {0};
    const options asked = c->o;
    c->o.jvp = true;
    c->o.with_value = false;
    const bool ok = derive(c, k->source, &none, &why);
    c->o = asked;
    k->forward.module = c->work.derived;
    c->work.derived = NULL;
    if (ok) k->forward.what = vys_entry_result(k->forward.module);
    if (ok) return true;
    snprintf(k->no_forward, sizeof k->no_forward, "%s", why.text);
    if (vy_diag_is(&why, VY_E_NOT_DIFFERENTIABLE)) return true;
    *d = why;
    return false;
}

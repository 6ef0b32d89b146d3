# SPDX-License-Identifier: MIT
"""Faults in gradients of programs, by what they are made of."""
GROUPS = (  # the test that notices, and what is changed, what is compiled, old, new
    # Offsets whose sign only the launch knows, and the order of strides that are parts of one vector.
    ("text/grad/gather/stride_offsets.vyre", (
        ("autodiff/gather/gather_signs.c", None, "        if (gather_is_given(g, r->sign[k].condition)) continue;", "        continue;"),
        ("autodiff/gather/gather_signs.c", None, "gather_number(g, -1)", "gather_number(g, 0)"),
        ("autodiff/gather/gather_signs.c", None, "    bad = vy_rows_signed(n->a, r, bad);\n", ""),
        ("autodiff/gather/gather_signs.c", None, "all = all.id ? gather_node(g, VY_DIM_MIN, all, holds) : holds;", "all = holds;"),
        ("autodiff/gather/gather_assume.c", None, "    if (signs.id) r->holds =", "    if (false) r->holds ="),
        ("autodiff/gather/gather_assume.c", None, "    s->open |= signs.id != 0;\n", ""),
        ("autodiff/gather/gather_either.c", None, "r->sign[k].natural.least, r->sign[k].natural.most", "r->sign[k].natural.most, r->sign[k].natural.most"),
        ("autodiff/gather/gather_strides.c", None, "if (!are_parts(g->r, a, b)) return a < b;", "return a < b;"),
        ("autodiff/gather/gather_strides.c", None, "if (!are_parts(g->r, a, b)) return a < b;", ""),
        ("autodiff/gather/gather_strides.c", None, "? u > v : a < b;", "? u < v : a < b;"),
    )),
    # A domain in batches: where they begin, what they add to, which programs have none; tapes apart.
    ("text/grad/storage/batches.vyre", (
        ("autodiff/driver/alone.c", None, "number(first, vy_dim_binary(w->b, VY_DIM_MUL, at, length));", "number(first, at);"),
        ("autodiff/driver/alone.c", None, "number(rows, vy_dim_binary(w->b, VY_DIM_REM, extent, length));", "number(rows, none);"),
        ("autodiff/driver/batches.c", None, "s->variables[s->axis] = vy_add(s->w.b, first,", "s->variables[0] = vy_add(s->w.b, first,"),
        ("autodiff/driver/batches.c", None, "if (p->buffers.data[i].cls == VY_OUT) p->buffers.data[i].cls = VY_INOUT;", ";"),
        ("autodiff/driver/batches.c", None, "&& i->op != VY_OP_ATOMIC_ADD) return false;", ") continue;"),
        ("autodiff/driver/batches.c", None, "p->insts.data[a].op == VY_OP_ATOMIC_ADD) return false;", "0) return false;"),
        ("autodiff/storage/tape.c", None, "r->options->split_tapes ? first + 1 :", "0 ? 0 :"),
        ("session/keep_less.c", None, "else if (!w->batches && w->divides)", "else if (0)"),
        ("session/keep_less.c", None, "if (n->one && !w->split) return w->split = true;", ""),
    )),
    # What a call of a function with a rule contributes.
    ("custom_rules.py", (
        ("autodiff/core/custom.c", None, "unit[k] = 0;\n    }", "}"),
        ("autodiff/core/custom.c", None, "all = sum(c->b, all, product(c->b, t, cotangents[o], tangents[o]));", "all = sum(c->b, all, tangents[o]);"),
        ("autodiff/core/custom.c", None, "out[k] = is_float(c, k) ? results[n++] : 0;", "out[k] = is_float(c, k) ? results[n] : 0;"),
        ("autodiff/core/custom.c", None, "all = sum(c->b, all, guard[k] ?", "all = sum(c->b, k > 1 ? 0 : all, guard[k] ?"),
        ("ir/build/inline.c", None, "all, slopes, VY_INLINE_VALUES, depth);", "all, slopes, VY_INLINE_DUAL, depth);"),
        ("ir/build/inline.c", None, "vy_float(b, type, floats == n).id;", "vy_float(b, type, floats == n ? 2 : 0).id;"),
    )),
    # Gathers by rows of which the launch says alone that they fit: none of an element beyond the buffer.
    ("text/grad/gather/longer_rows.vyre", (
        ("autodiff/gather/gather_sums.c", None, "site->access.rows && !gather_is_open(w->g->r, length_of(w, site).id);", "false;"),
        ("autodiff/gather/gather_sums.c", None, "return w->g->r->buffers.data[site->access.buffer].dims[0];", "return site->access.dim[0];"),
    )),
    # What the text of a lowered program means to differentiation.
    ("text/grad/rewrite/lowered.vyre", (
        ("autodiff/rewrite/raise_lowered.c", None, "(uint32_t[]){x, y}", "(uint32_t[]){x, x}"),
        ("autodiff/rewrite/raise_lowered.c", None, "const bool derives = i->op == VY_OP_DERIVE_AS;", "const bool derives = false;"),
        ("autodiff/driver/jvp.c", None, "vy_raise_lowered(p) &&", ""),
    )),
    # What buffers begin as copies of.
    # What order 1 gathered or stored, at order 2.
    ("text/grad/order/flat.vyre", (
        ("autodiff/affine/flat.c", None, "if (by_index(&l) || by_assumption(&l, true)) return true;", "if (by_index(&l)) return true;"),
        ("autodiff/gather/gather_assume.c", None, "r->wraps ? !last || gather_is_given(g, last) : !s->open;", "!s->open;"),
        ("session/derive.c", None, "const bool last = !w->again && done", "const bool last = done"),
    )),
    ("text/grad/order/owned.vyre", (
        ("autodiff/facts/race_free_owner.c", None, "vy_in_then(s, at, load) == then)", "true)"),
        ("autodiff/facts/race_free_owner.c", None, "vy_arg(p, at, 0) == vy_arg(p, branch, 0) &&", ""),
        ("autodiff/facts/race_free_owner.c", None, "in_equal_arm(q, load, store, region) &&", "false &&"),
    )),
    ("text/grad/order/starts.vyre", (
        ("ir/build/starts.c", None, "b->init_from = input ? r.name : NULL;", ";"),
        ("ir/build/starts.c", None, "b->init = input ? VY_INIT_COPY : r.init;", "b->init = VY_INIT_COPY; if (!input) b->init_from = r.name;"),
        ("autodiff/driver/starts_meet.c", None, "|| is_named(name, o->of, o->of_count)", ""),
        ("autodiff/driver/starts_meet.c", None, "if (!vy_starts_alike(p, &p->buffers.data[i], &p->buffers.data[x])) return true;", ""),
        ("autodiff/driver/alone.c", None, "x.flat = b->rank > 1 &&", "x.flat = false &&"),
        ("autodiff/explain/explain_pipeline.c", None, "if (program_apart(m, &o)) return true;", ""),
    )),
    # What padding lanes load, on lavapipe of Mesa 22.3.
    ("text/grad/order/many_elements.vyre", (
        ("spirv/emit/emit_memory.c", None, "    return constant;", "    return constant && false;"),
    )),
    ("text/grad/exclusive/owned.vyre", (
        ("ir/pass/scalar/licm.c", None, "b->cls == VY_SHARED || b->owned ||", "b->cls == VY_SHARED ||"),
    )),
    # What only third derivatives show: the script runs gradcheck_file.
    ("third_order.py", (
        ("ir/core/ops.h", "autodiff/core/rules.c", "POLYGAMMA(AUX + 1, A)", "POLYGAMMA(AUX + (AUX != 3), A)"),
    )),
    # How long the text of a gradient becomes.
    ("linear_reverse.py", (
        ("autodiff/gather/gather_length.c", None, "TIMES = 8,", "TIMES = 80,"),
        ("autodiff/gather/gather_length.c", None, "if (first == k) g->", "if (!k) g->"),
        ("autodiff/gather/gather_length.c", None, "n += g->sites[j].need[id] && !g->counted[id];", "n += g->sites[j].need[id] && !id;"),
    )),
    # Which loops are axes of a tape, and in which values stand in an array.
    ("text/grad/control/while_conditions.vyre", (
        ("autodiff/facts/trip_bound.c", None, "l->value.i <= INT32_MAX ?", "true ?"),
    )),
    ("text/grad/storage/axes.vyre", (
        ("autodiff/storage/tape_axes.c", None, "|| x->writes[i->aux] == loop", ""),
        ("autodiff/storage/tape_axes.c", None, "    x->varies[loop] = VALUE;", ""),
        ("autodiff/storage/tape_axes.c", None, "if (p->insts.data[up].op != VY_OP_LOOP || x->varies[up] & BOUNDS) return false;", ";"),
        ("autodiff/storage/standing.c", None, "if (!is_index(p, store, l)) return false;", ";"),
        ("autodiff/storage/standing.c", None, "*store = *store || i->op != VY_OP_STORE ? NONE : id;", "*store = *store ? *store : id;"),
        ("autodiff/storage/standing.c", None, "if (!x->proved[store] || ", "if ("),
    )),
    ("text/grad/types/library.vyre", (
        ("ir/build/numbers.c", None, "v[1] = vy_cast(b, VY_I32, vy_cast(b, VY_F32, is));", "v[1] = is;"),
        ("ir/eval/eval_path.c", None, "v.f = trunc(a.f / b.f);", "v.f = 0;"),
    )),
    ("text/grad/types/many_cases.test", (
        ("ir/text/lower_switch.c", None, "while (c->op) c = c->next; // the default", ""),
        ("ir/text/lower_switch.c", None, "c = lower_half(l, c, is + n / 2, n - n / 2);", "c = lower_half(l, c, is, n - n / 2);"),
    )),
    ("text/grad/types/vectors.vyre", (
        ("ir/build/geometry.c", None, "v[k] = vy_select(b, zero, vy_stop_grad(b, v[k]), v[k]);", "(void)zero;"),
    )),
    ("text/grad/rewrite/redundant_stores.vyre", (
        ("ir/check/redundant.c", None, "r->loads[k] = b->cls != VY_IN && r->racy[memory_of(r->p, k)];", "r->loads[k] = b->cls != VY_IN;"),
        ("ir/check/redundant.c", None, "is_own(&r->p->buffers.data[i->aux], axis))\n            continue;", "false)\n            continue;"),
        ("ir/check/redundant.c", None, "if (x->same) x->same |= groups[id].same;", ""),
        ("ir/check/check_uniform.c", None, "return axis < 2 ? axis : 2;", "return over;"),
        ("autodiff/rewrite/redundant.c", None, "vy_builtin_value(b, of, k % VY_GROUP_AXES)", "vy_builtin_value(b, of, 0)"),
        ("ir/eval/eval_shadow.c", None, "axes >> (VY_GROUP_AXES + k) & 1", "axes >> k & 1"),
    )),
    ("text/grad/gather/open_length.vyre", (
        ("autodiff/gather/gather_site.c", None, "if (k || x->flat ||", "if (true || x->flat ||"),
        ("autodiff/stages/stages_groups.c", None, "c->length[k] = (uint32_t)p->dims", "c->length[k] = 1 + 0 * (uint32_t)p->dims"),
        ("autodiff/stages/stages_groups.c", None, "if (v == p->overs.count) return true;", "if (v == p->overs.count || p->overs.count > 1) return true;"),
    )),
)

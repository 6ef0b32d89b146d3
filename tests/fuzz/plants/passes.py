# SPDX-License-Identifier: MIT
"""Faults in passes over programs."""
GROUPS = (  # the test that notices, and what is changed, what is compiled, old, new
    # Which sizes leave shared arrays unfilled.
    ("tiles_filled.py", (
        ("spirv/facts/whole.c", None, "k < w->p->overs.count ? w->p->workgroup[k] : 1;", "w->p->workgroup[k];"),
        ("spirv/facts/whole.c", None, "n < to && n < most; n++)", "n + 1 < to && n < most; n++)"),
        ("spirv/facts/whole.c", None, "if (l[0] + l[1] + l[2] == l[axis]) least(", "least("),
        ("spirv/facts/whole.c", None, "whole ? 0 : w->lid[axis] + 1", "0"),
        ("spirv/facts/whole_walk.c", None, "const uint32_t axis = w->p->overs.count - 1 - v;", "const uint32_t axis = v;"),
        ("spirv/facts/whole_walk.c", None, "w->sure = sure && c.known;", ""),
        ("spirv/facts/whole_walk.c", None, "w->sure = w->sure && w->uses->shared[id];", ""),
        ("spirv/facts/whole_walk.c", None, "if (!keep.known) *is_known = w->sure = false;", ""),
        ("spirv/facts/whole_counts.c", None, "(x & y) | (x & inside(c, opener, middle)) |", "(x & y) |"),
        ("spirv/facts/whole_counts.c", None, "return (x & y) | (x & inside", "return x | (x & inside"),
        ("spirv/facts/whole_counts.c", None, "return runs_same_iterations(c, opener) ? y :", "return true ? y :"),
        ("spirv/facts/whole_counts.c", None, "& ~below(c, guard)", ""),
        ("spirv/facts/whole_counts.c", None, "(made_of(c, vy_arg(c->p, id, 1)) & made_of", "(made_of(c, vy_arg(c->p, id, 1)) | made_of"),
        ("spirv/describe/describe.c", None, "if (x->others) need = vy_describe_binary(", "if (false) need = vy_describe_binary("),
        ("spirv/describe/describe.c", None, "(int64_t)w - 1 - (x->to - x->from)", "(int64_t)w - 1"),
        ("ir/pass/scalar/licm.c", None, "if (vy_loop_surely_runs(l->w.p, loop)) return false;", "if (true) return false;"),
        ("ir/eval/eval_partial.c", None, "b->unclear |= is_unclear(c, vy_arg(c->p, id, k));", ";"),
    )),
    # How loops end on a device (Mesa 22.3: another driver may be right with them).
    ("loop_ends.py", (
        ("spirv/target/mesa_loops.c", None, "if (f->library) return bound;", "return bound;"),
        ("spirv/target/mesa_loops.c", None, "if (f->library) return answer;", "return answer;"),
        ("spirv/emit/emit_control.c", None, "c.limit = frame->limit;", "c.limit = c.reverse ? c.from : c.to;"),
        ("spirv/emit/emit_counted.c", None, "if (c->count && c->reverse) return vy_spv_zero(", "if (c->count && c->reverse) return vy_spv_int("
         "f->m, c->unsigned_type, 1); return vy_spv_zero("),
        ("spirv/emit/emit_counted.c", None, "if (!computed || !f->m->hooks->bound) return bound;", "return bound;"),
    )),
    # Deciding whether stores of different invocations overlap, and who owns an element.
    ("stores_meet.py", (
        ("ir/check/race_owner.c", None, "if (has(r, &other, &o->marks[k])) o->marks", "o->marks"),
        ("ir/check/race_owner.c", None, "if (k) return n->op == VY_DIM_CONST && k->i >= n->value;", "if (k) return true;"),
        ("ir/check/race_owner.c", None, "return e && sum < e->i;", "return e;"),
        ("ir/check/race_owner.c", None, "if (vy_race_on(r, id) != 0 || depth > DEEP) return false;", ""),
        ("ir/check/race_owner.c", None, "if (!i) return true;\n    if (i->nargs > 2 ||", "if (!i || i->op == VY_OP_LOOP) return true;\n    if (i->nargs > 2 ||"),
        ("ir/check/race_owner.c", None, "vy_in_then(r->s, up, inside))\n            add_mark", "true)\n            add_mark"),
        ("ir/check/race_owner.c", None, "x->kind == m->kind && x->axis == m->axis &&", "x->kind == m->kind &&"),
        ("ir/check/race_pairs.c", None, "return of_args(m, store, b->rank).same && reached(m, store) &&", "return of_args(m, store, b->rank).same &&"),
        ("ir/check/race_pairs.c", None, "one(a % m->shape[axis], b % m->shape[axis])", "one(0, 0)"),
        ("ir/check/race_pairs.c", None, "if (known) x.same = vy_scalar_same(result, x.v[0], x.v[1]);", "x.same = true;"),
        ("ir/check/race_pairs.c", None, "if (!c.same || (c.known &&", "if ((c.known &&"),
        ("ir/check/race_pairs.c", None, "return d->op == VY_DIM_CONST && d->value < 4 ?", "return false ?"),
        ("ir/check/race_pairs.c", None, "need_args(m, up, 1);\n        else", ";\n        else"),
        ("ir/check/race_pairs.c", None, "if (m->needed[id]) need_operands(m, id);", ""),
        ("autodiff/rewrite/own_atomics.c", None, "o->chosen[id] && buffers[p->insts.data[id].aux];", "o->chosen[id];"),
        ("autodiff/rewrite/own_atomics.c", None, "sites[id] = o->group[id] &&", "sites[id] = o->chosen[id] &&"),
        ("autodiff/facts/injective.c", None, "b->plain &= plain == all;", "b->plain &= plain != 0;"),
    )),
    ("text/opt/cleanup_loops.vyre", (("ir/build/rebuild.c", None, ".order = m->order};", ".order = m->order, .clean = true};"),)),
    ("text/opt/lifetimes.vyre", (("ir/build/live_mark.c", None, "!(clears && up == w->w.s.parent[l->zero])", "!clears"),)),
    # What arms of several ifs share.
    ("text/opt/share_arms.vyre", (
        ("ir/pass/scalar/ifconvert.c", None, "&& no == other;", ";"),
        ("ir/pass/scalar/share_arms.c", None, "return x->yields[id] && is_directly_in_arm(x, id, later);", "return x->yields[id];"),
        ("ir/pass/scalar/share_arms.c", None, "x->gone[id] && !x->before[id] && is_directly_in_arm", "x->gone[id] && is_directly_in_arm"),
        ("ir/pass/scalar/share_arms.c", None, "return x->before[id] && x->before[id] <= head ?", "return x->before[id] ?"),
        ("ir/pass/scalar/share_arms.c", None, "return x->before[id] && x->before[id] <= head ? BEFORE : NOWHERE;", "return NOWHERE;"),
        ("ir/pass/scalar/share_arms.c", None, "if (x->asked[id] == later) return (place)", "if (x->asked[id]) return (place)"),
    )),
    # Programs on which a pass returns at once.
    ("text/opt/forward_stores.vyre", (
        ("ir/pass/scalar/forward.c", None, "seen[i->aux] = 1;", "seen[i->aux] |= i->op != VY_OP_STORE;"),
    )),
    ("text/opt/forward_loads.vyre", (
        ("ir/pass/scalar/forward.c", None, "seen[i->aux] = 1;", "seen[i->aux] |= i->op != VY_OP_LOAD;"),
    )),
    ("text/opt/count_do_loops.vyre", (
        ("ir/core/flow.c", None, "vy_is_loop(op) ? VY_LOOPS", "op == VY_OP_LOOP ? VY_LOOPS"),
    )),
    ("text/opt/cleanup_loops.vyre", (
        ("ir/build/cleanup.c", None, "if (!vy_constructs(p)) return true;", "if (!(vy_constructs(p) & VY_IFS)) return true;"),
    )),
    ("text/opt/implied.vyre", (
        ("ir/facts/context.c", None, "(f->strict || !strict)) return true;", "true) return true;"),
        ("ir/facts/context.c", None, "const int decisive = op == VY_OP_OR;", "const int decisive = op == VY_OP_AND;"),
    )),
    ("text/opt/coarsen_memory.vyre", (
        ("ir/pass/device/coarsen_memory.c", None, "t->loaded[memory] != t->now || t->stored", "true || t->stored"),
        ("ir/pass/device/coarsen_memory.c", None, "&& p->buffers.data[memory].owned;", ";"),
        ("ir/pass/device/coarsen_memory.c", None, "if (uses_an_atomic(p, id)) return false;", ""),
        ("ir/pass/device/coarsen_memory.c", None, "|| is_shared_addition(p, id);", "|| true;"),
        ("ir/pass/device/unroll_and_jam.c", None, "if (j->inside[q]) v = vy_select(b, (vy_value){j->inside[q]}, v, zero);", "(void)zero;"),
        ("ir/pass/device/unroll_and_jam.c", None, "own ? own : i->aux", "i->aux"),
        ("ir/pass/device/coarsen_memory.c", None, "(load && !t->loops)", "load"),
        ("ir/pass/device/coarsen.c", None, "& ~diverging_ifs(c, id);", ";"),
    )),
    ("text/opt/coarsen_gpu.vyre", (
        ("ir/pass/device/interior.c", None, "copy_of(p, condition) > copy_of(p, x->widest[k])", "copy_of(p, condition) < copy_of(p, x->widest[k])"),
        ("ir/pass/device/interior.c", None, "for (uint32_t k = 1; k < x->axes; k++)", "for (uint32_t k = 1; k < 1; k++)"),
        ("ir/pass/device/interior.c", None, "for (uint32_t id = 1; id < x->first; id++) x->w.map[id] = outside[id];", ""),
        ("ir/pass/device/interior.c", None, "vy_rewrite_range(&x->w, x->first, end, instead, x);", "vy_rewrite_range(&x->w, x->first, end, NULL, x);"),
        ("ir/pass/device/unroll_and_jam.c", None, "!j->adjacent && j->axis", "j->axis"),
        ("ir/pass/target/strip_mine.c", None, "if (!(i->flags & VY_FLAG_INRANGE)) return false;", ""),
        ("ir/pass/target/strip_mine.c", None, "return row && step && step->u == 1;", "return step && step->u == 1;"),
    )),
    ("text/opt/nested_selects.vyre", (
        ("ir/pass/scalar/nested_selects.c", None, "vy_type_is_float(vy_id_type(p, id))", "true"),
        ("ir/pass/scalar/nested_selects.c", None, "if (!other) x->uses[id]--;", "x->uses[id]--;"),
        ("ir/pass/scalar/nested_selects.c", None, "x->condition[id] && !x->uses[id]; }", "x->condition[id]; }"),
        ("ir/pass/scalar/nested_selects.c", None, "vy_arg(p, id, 0), k == 1);", "vy_arg(p, id, 0), true);"),
    )),
    ("text/opt/count_do_loops.vyre", (
        ("ir/pass/scalar/count_loops.c", None, "if (r.of->last) r.to = vy_max(b, r.to, vy_add(b, r.init, one(x, r.type)));", ""),
        ("ir/pass/scalar/count_loops.c", None, "if (r->of->moved) later.init", "if (true) later.init"),
        ("ir/pass/scalar/count_loops.c", None, "(!c->last && c->compare == id) ? loop", "c->compare == id ? loop"),
        ("ir/pass/scalar/find_counter.c", None, "vy_greatest(c->type).u - by);", "vy_greatest(c->type).u);"),
        ("ir/pass/scalar/iteration.c", None, "no == condition ? 0 : truth", "no == condition ? 1 : truth"),
    )),
    ("text/opt/count_loops.vyre", (
        ("ir/pass/scalar/find_counter.c", None, "c->down = by.down != negative;", "c->down = by.down;"),
        ("ir/pass/scalar/find_counter.c", None, "const uint64_t room = by ? by - !c->reaches : 0;", "const uint64_t room = 0;"),
        ("ir/pass/scalar/find_counter.c", None, "return least == 0 || (n &&", "return true || (n &&"),
        ("ir/pass/scalar/iteration.c", None, "return same_change(&a, &b) ? a : (vy_change){0};", "return a;"),
        ("ir/pass/scalar/find_counter.c", None, "c->unsure = c->wide || !is_positive(w, step, 0) ? step : 0;", "c->unsure = 0;"),
        ("ir/pass/scalar/find_counter.c", None, "effect != VY_PURE && effect != VY_READ) return false;", "effect == VY_CTRL) return false;"),
        ("ir/pass/scalar/find_counter.c", None, "c->differs = op == VY_OP_NE || op == VY_OP_EQ;", "c->differs = false;"),
        ("ir/pass/scalar/count_loops.c", None, "if (!r->of->reaches) return r->bound;", "return r->bound;"),
        ("ir/pass/scalar/count_loops.c", None, "r.from = r.of->reaches ? r.bound : vy_add(", "r.from = vy_add("),
        ("ir/pass/scalar/count_loops.c", None, "&& !vy_exits(p, loop);", ";"),
        ("ir/pass/scalar/count_loops.c", None, "return vy_max(b, r->init, r->to);", "return r->to;"),
    )),
    ("text/opt/licm_unchecked.vyre", (
        ("ir/pass/scalar/licm.c", None, "(l->unchecked && !vy_is", "(false && !vy_is"),
        ("ir/pass/scalar/licm.c", None, "(&l->prover, load, loop))", "(&l->prover, load, load))"),
    )),
    # Stores of one iteration that may not leave the loop.
    ("text/opt/hoist_first_apart.vyre", (
        ("ir/pass/scalar/hoist_first.c", None, "if (vy_arg(p, cond, 1 - k) == vy_arg(p, counter, 0)) return", "return"),
        ("ir/pass/scalar/hoist_first.c", None, "if (inst(h, up)->op != VY_OP_LOOP || vy_exits(h->w.p, up)) return false;", "if (inst(h, up)->op != VY_OP_LOOP) return false;"),
        ("ir/pass/scalar/hoist_first.c", None, "return !vy_written_between(&h->writes, i->aux, s->loop, h->w.s.partner[s->loop]);", "return true;"),
        ("ir/pass/scalar/hoist_first.c", None, "if ((VY_IS_LEAF(x) || x < s->loop) && vy_values", "if (vy_values"),
        ("ir/pass/scalar/hoist_first.c", None, "(other != id && !is_apart(h, s, id, other))", "false"),
        ("ir/pass/scalar/hoist_first.c", None, "if (h->w.s.partner[other] != other + 1) return false;", ""),
    )),
    ("text/opt/hoist_first.vyre", (
        ("ir/pass/scalar/hoist_first.c", None, "vy_begin_if_unsure(b, vy_new_runs(&h->w, s->loop).id);", "false;"),
        ("ir/pass/scalar/hoist_first.c", None, "(vy_type)i->type, i->flags & VY_FLAG_REVERSE,", "(vy_type)i->type, 0,"),
    )),
)

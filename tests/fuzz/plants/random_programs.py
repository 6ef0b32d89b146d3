# SPDX-License-Identifier: MIT
"""Faults that random programs show."""

OPS = ("ir/core/ops.h", "autodiff/core/rules.c")

PLANTS = (  # what is changed, what is compiled, old, new
    (*OPS, "D2(G, NEG(G))", "D2(G, G)"),                            # −
    (*OPS, "D2(MUL(G, B), MUL(G, A)),", "D2(MUL(G, B), MUL(G, B)),"),  # ×
    (*OPS, "NEG(DIV(MUL(G, Y), B))", "NEG(DIV(MUL(G, Y), A))"),     # ÷
    (*OPS, "D3(MUL(G, B), MUL(G, A), G)", "D3(MUL(G, B), MUL(G, A), NEG(G))"),  # fma
    (*OPS, "PICK2(LT(A, B))", "PICK2(LT(B, A))"),                   # min
    (*OPS, "D1(MUL(G, SUB(K(1), MUL(Y, Y))))", "D1(MUL(G, SUB(K(1), Y)))"),     # tanh
    (*OPS, "D1(DIV(G, MUL(K(2), Y)))", "D1(DIV(G, Y))"),            # sqrt
    (*OPS, "MUL(K(-0.5), G)", "MUL(K(0.5), G)"),                    # rsqrt
    (*OPS, "D1(NEG(MUL(G, SIN(A))))", "D1(MUL(G, SIN(A)))"),        # cos
    (*OPS, "D1(MUL(G, SIGMOID(A)))", "D1(MUL(G, A))"),              # softplus
    (*OPS, "D1(DIV(G, HYPOT(A, K(1))))", "D1(DIV(G, HYPOT(A, K(2))))"),         # asinh
    (*OPS, "MUL(MUL(G, Y), LOG(A))", "MUL(MUL(G, Y), A)"),          # pow
    (*OPS, "MUL(G, DIV(B, Y))", "MUL(G, DIV(A, Y))"),               # hypot
    (*OPS, "NEG(MUL(G, ROUND(DIV(SUB(A, Y), B))))", "MUL(G, ROUND(DIV(SUB(A, Y), B)))"),  # fmod
    (*OPS, "POLYGAMMA(AUX + 1, A)", "POLYGAMMA(AUX, A)"),           # polygamma
    ("autodiff/reverse/contribute.c", None, "add(r, id, have, g)", "g"),
    # derivatives of derivatives
    ("autodiff/facts/activity.c", None, "if (flag == USEFUL && f->start) mark_buffer(a, f->start, USEFUL);", ""),
    ("autodiff/reverse/params.c", None, "i, buf->init, buf->init_from);\n    if (open)",
     "i, VY_INIT_NONE, NULL);\n    if (open)"),
    ("autodiff/reverse/sweep.c", None, "contribute_where(r, y, not_c, g, mask);", "contribute_where(r, y, not_c ? c : 0, g, mask);"),
    ("autodiff/facts/masks.c", None, "!VY_IS_LEAF(id) && m->facts->s.parent[user] == m->facts->s.parent[id]",
     "!VY_IS_LEAF(id)"),
    ("autodiff/facts/masks.c", None, "return op == VY_OP_SELECT || vy_rule_kind_of(op) == RULE_PICK ||",
     "return op == VY_OP_SELECT; return"),
    ("autodiff/reverse/sweep_loop.c", None, "^ VY_FLAG_REVERSE;", ";"),
    ("autodiff/reverse/sweep_loop.c", None, "vy_clear_local_adjoints(r, f->opener);", ""),
    ("autodiff/reverse/sweep_memory.c", None, "vy_emit(r->b, VY_OP_ZERO, VY_VOID, info->adjoint, n, extents);", ""),
    ("autodiff/reverse/sweep_control.c", None, "elses[n++] = or_zero(r, t->adjoint[1] ? t->adjoint[1] : base",
     "elses[n++] = or_zero(r, base ? base : t->adjoint[1]"),
    ("autodiff/storage/repeatable.c", None, "return facts->last_write < (outermost ? outermost : id);",
     "return true;"),
    ("autodiff/storage/repeatable.c", None, "return facts->last_write < (outermost ? outermost : id);",
     "return info->last_write < id;"),
    ("autodiff/reverse/sweep_memory.c", None, "const bool clear = !r->facts.adds[id] && info->spent != id;", "const bool clear = false;"),
    ("autodiff/reverse/sweep_memory.c", None, "if (!found) return false;", ""),
    ("autodiff/reverse/sweep_memory.c", None, "facts->sites == 1 &&", ""),
    # tapes, loops that count, checkpoints
    ("ir/build/loops.c", None, "return vy_div(b, vy_sub(b, k, from), step);",
     "return vy_sub(b, k, from);"),
    ("autodiff/storage/tape_access.c", None, "if (r->build.untested && r->facts.home[id] == r->build.untested) return;", ""),
    ("autodiff/storage/tape_access.c", None, "vy_add(r->b, (vy_value){vy_tape_built(r, c)->base}, (vy_value){r->build.map[c->at]}).id",
     "r->build.map[c->at]"),
    ("autodiff/storage/tape.c", None, "r->build.tape_slot[id] = ++groups->data[at].count;",
     "++groups->data[at].count, r->build.tape_slot[id] = 1;"),
    ("autodiff/reverse/sweep_loop.c", None,
     "if (o->flags & VY_FLAG_REVERSE) number = vy_sub(r->b, s.last, number);", ""),
    ("autodiff/reverse/sweep_loop.c", None, "flags & VY_FLAG_REVERSE) number = vy_sub(r->b, s.last, number);",
     "flags & 0) number = vy_sub(r->b, s.last, number);"),
    ("autodiff/reverse/sweep_loop.c", None, "vy_mul(r->b, n, (vy_value){vy_primal(r, c)})",
     "(vy_value){vy_primal(r, c)}"),
    ("autodiff/reverse/replay.c", None, "if (counts) in[n] = zero(r, VY_U32);",
     "if (counts) in[n] = vy_int(r->b, VY_U32, 1).id;"),
    # constructs that are rebuilt: loops that exit early, arms, what the last iteration yields
    ("ir/build/rewrite.c", None, "l->keep = keep ? vy_new(w, keep) : 0;", "l->keep = 0;"),
    ("ir/build/rewrite.c", None, "vy_new(w, vy_slot_then(w->p, &w->s, l->opener, k))",
     "vy_new(w, vy_slot_yield(w->p, &w->s, l->opener, k))"),
    ("autodiff/storage/counter.c", None, "most->id = vy_max(w->w.b, (vy_value){most->id}, (vy_value){most[-1].id}).id;",
     ""),
    ("autodiff/reverse/sweep_control.c", None, "vy_clear_local_adjoints(r, opener);", ""),
    # old values, names, claims beside the numbers
    ("ir/build/build.c", None, "return old;", "return all[rank];"),
    ("autodiff/storage/tape.c", None, "if (vy_builder_failed(r->b) ||", "if (true ||"),
    ("autodiff/rewrite/ends.c", None, "return k >= e->p->buffers.data[i->aux].rank;", "return false;"),
    ("ir/text/define.c", None, "d->dims = e;", ""),
    # what passes have proved, and how it is printed and parsed
    ("ir/pass/scalar/mark_in_range.c", None, "all ? VY_MAX_RANK : axes[id]", "VY_MAX_RANK"),
    ("ir/pass/scalar/mark_in_range.c", None, "(axes < most ? axes : most)", "(axes + 1)"),
    ("ir/text/print_expr.c", None, "if (!(flags & mark)) continue;",
     "if (!(flags & mark) || mark == VY_FLAG_OWNED) continue;"),
    ("ir/text/lower_element.c", None, "vy_emit_flags(l->b, id, w->at->flags);", ""),
    # facts that spread: a visited node is never revisited; a value's first user is not notified
    ("ir/core/dataflow.h", "autodiff/facts/activity.c", "d->waits[id] = 0;", ""),
    ("ir/core/dataflow.c", None, "for (uint32_t k = d->first_user[id]; k <", "for (uint32_t k = d->first_user[id] + 1; k <"),
    # where constructs keep their operands, and a loop that is rebuilt
    ("ir/core/flow.h", "autodiff/reverse/sweep_loop.c", "vy_init_arg(p, loop) + k);", "vy_init_arg(p, loop) + k - !!k);"),
    ("ir/core/flow.h", "autodiff/reverse/sweep_loop.c", "vy_next_arg(p, loop) + k);", "vy_next_arg(p, loop) + k - !!k);"),
    ("ir/build/rewrite.c", None, "vy_rewrite_as(w, marker + 1 + k, values[k]);", "vy_rewrite_as(w, marker + 1 + k, values[k - !!k]);"),
)

# Faults that only several invocations show: looked for with several.py's programs alone.
SEVERAL = (
    # a plain addition where other invocations add too
    ("ir/facts/owner_axes.c", None, "if (!m->axes[buffer * m->stride + v] && !single(p, v)) return false;", ""),
    ("ir/facts/owner_axes.c", None, "l->kind == VY_LEAF_OVER && l->index == variable", "l->kind == VY_LEAF_OVER"),
    ("ir/core/access.c", None, "if (k != but && vy_arg(p, x, k) != vy_arg(p, y, k)) return false;", ""),
    ("ir/core/access.c", None, "k < rank; k++", "k < (rank > 0); k++"),
    ("autodiff/facts/race_free_owner.c", None, "vy_same_index(p, load, store, VY_NO_AXIS) && implies(q, load, store) &&",
     "vy_same_index(p, load, store, VY_NO_AXIS) &&"),
    ("ir/pass/sums/mark_single_access.c", None, "b->init != VY_INIT_NONE ||", ""),
    ("autodiff/gather/gather_length.c", None, "&& same_arm(g, x->id, y->id)", ""),
    # barriers of the reverse
    ("autodiff/reverse/sweep.c", None, "        vy_lane_sums_make(r, true);\n        vy_barrier(r->b);", "        vy_lane_sums_make(r, true);"),
    # bounds of an inverted access map
    ("autodiff/affine/single.c", None, "vy_isl_aff_lt_basic_set(a, b)", "isl_aff_le_basic_set(a, b)"),
    ("autodiff/affine/single.c", None, "vy_isl_aff_ge_basic_set(a, b)", "isl_aff_gt_basic_set(a, b)"),
    ("autodiff/affine/single.c", None, "return vy_isl_map_intersect_domain(map, domain);",
     "isl_set_free(domain); return map;"),
    ("autodiff/affine/iteration_domain.c", None, "vy_isl_set_lower_bound_si(n->domain, isl_dim_set, k, 0);",
     "vy_isl_set_lower_bound_si(n->domain, isl_dim_set, k, 1);"),
    # missing clears and initial contents
    ("spirv/facts/fully_written.c", None, "if (!vy_dim_equal(p, b->dims[k], p->overs.data[l->index].extent)) return false;", ""),
    ("spirv/facts/fully_written.c", None, "all = in->op == VY_OP_STORE && depth == 0 && covers(p, i);",
     "all = in->op == VY_OP_STORE && covers(p, i);"),
    ("autodiff/deterministic/deterministic.c", None, "starts_results(o, p) ? VY_DROP_MADE : VY_DROP_ALL", "VY_DROP_ALL"),
    # subgroups
    ("autodiff/reverse/sweep_subgroup.c", None, "case VY_OP_SG_MUL: return of_all(r, x);", "case VY_OP_SG_MUL: return x;"),
    ("autodiff/reverse/sweep_subgroup.c", None,
     "if (r->p->insts.data[id].op == VY_OP_SG_INCLUSIVE_ADD || vy_builder_failed(r->b)) return s;", "return s;"),
    ("ir/pass/sums/subgroup_reduce.c", None, "if (differs(r, index) || (!VY_IS_LEAF(index) && index > out)) return false;",
     "if (!VY_IS_LEAF(index) && index > out) return false;"),
    # several elements per invocation
    ("ir/pass/device/unroll_and_jam.c", None, "return map_of(j, differs(j, id) ? q : 0)[id];", "return map_of(j, 0)[id];"),
    ("ir/pass/device/unroll_and_jam.c", None, "if (q && !(constant && constant % f == 0)) {", "if (false) {"),
    ("ir/pass/device/unroll_and_jam.c", None, "at = vy_select(b, (vy_value){j->inside[q]}, at, first);", ""),
    ("ir/facts/domain_dependence.c", None, "any_of(a, ids, vy_slot_sources(a->p, a->s, id, ids));",
     "any_of(a, ids, vy_slot_sources(a->p, a->s, id, ids) > 0);"),
    ("ir/pass/device/coarsen_memory.c", None, "&& use[memory] != LOADED && use[memory] != ADDED) return false;", "&& false) return false;"),
    ("ir/facts/domain_dependence.c", None, "a->array[p->insts.data[id].aux] |= bits;", ""),
)

# Faults in what passes assume of memory that loops both read and write: with rounds.py's programs.
ROUNDS = (
    ("ir/pass/sums/promote.c", None, "if (k != x->axis &&", "if ("),
    ("ir/pass/scalar/cse_regions.c", None, "if (vy_is_loop((vy_op)x->w.p->insts.data[up].op)) at = x->w.s.partner[up];", ""),
    ("ir/pass/scalar/cse_regions.c", None, "return i->op != VY_OP_LOAD || !vy_written_between(", "return true || !vy_written_between("),
    ("ir/pass/scalar/forward.c", None, "forget_between(f, id, f->w.s.partner[id]);", ""),
    ("ir/pass/scalar/forward.c", None, "f->now = *f->saved[depth]; // what", "; // what"),
    ("ir/pass/scalar/dse.c", None, "if (d->w.p->insts.data[id].op == VY_OP_ENDLOOP) d->now.count = 0;", ""),
    ("ir/pass/scalar/dse.c", None, "forget_between(d, id, vy_closer(d->w.p, &d->w.s, id));", ""),
    ("ir/pass/scalar/dse.c", None, "if (vy_is_loop((vy_op)p->insts.data[up].op)) return false;\n    return !vy", "if (0) return false;\n    return !vy"),
    ("ir/pass/scalar/dse.c", None, "up; up = d->w.s.parent[up])\n        if (vy_is_loop", "up; up = 0)\n        if (vy_is_loop"),
    ("ir/pass/scalar/licm.c", None, "(!vy_written_between(&l->writes, i->aux, loop, l->w.s.partner[loop]) &&", "(true &&"),
    ("ir/pass/sums/promote.c", None, "x->read_first |=", "x->read_first |= false &&"),
    ("ir/pass/scalar/fuse_ifs.c", None, "!vy_written_between(&f->writes, p->insts.data[k].aux, f->head[id], k)", "true"),
    ("ir/pass/scalar/share_arms.c", None, "!vy_written_between(&x->writes, i->aux, head, id)", "true"),
    ("ir/pass/scalar/share_arms.c", None, "(a == IN_ARM && between)", "false"),
    ("ir/pass/scalar/share_arms.c", None, "if (*head && in_one_block(x, *head, id)) {", "if (*head) {"),
    ("ir/facts/context.c", None, "vy_is_at_least(q, y, k + strict);", "vy_is_at_least(q, y, k);"),
    ("ir/facts/range.c", None, "vy_is_below(q, less, plus(e, !strict));", "vy_is_below(q, less, plus(e, 1));"),
)

# Faults in what is followed iteration by iteration: with strides.py's programs.
STRIDES = (
    ("ir/pass/scalar/constant_trips.c", None, "memset(w->has + loop, 0, end - loop);", ""),
    ("ir/pass/scalar/constant_trips.c", None, "if (!go.u) return iteration + 1;", "if (!go.u) return iteration + 2;"),
    ("ir/pass/scalar/invariant_carries.c", None, "x->held &= !drop(x, id);", "drop(x, id);"),
    ("ir/pass/scalar/invariant_results.c", None, "|| vy_exits(p, loop))", ")"),
    ("ir/pass/scalar/unroll.c", None, "u->trips[loop] - 1 - trip", "u->trips[loop] - trip"),
    ("ir/pass/passes.c", None, "pipeline[pass].tidy && ", "false && "),
)

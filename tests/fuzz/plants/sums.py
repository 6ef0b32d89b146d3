# SPDX-License-Identifier: MIT
"""Faults in how sums are made, which the programs of directed.py show: programs that gather, their walks, what they
store, terms, exact sums, stages, counted loops, the domain test."""
DIRECTED = (
    # masks of what is added to memory
    ("autodiff/facts/shadow.c", None, "if (i->op != VY_OP_STORE && i->op != VY_OP_ATOMIC_ADD) continue;",
     "if (i->op != VY_OP_STORE) continue;"),
    # what adds to an element, its other accesses, uses of the old value, whether it can move
    ("ir/facts/addition.c", None, "if (++seen > MAX_ACCESSES || !vy_adds_silently(a, t->at[n])) return false;",
     "if (a->p->insts.data[t->at[n]].op != VY_OP_LOAD && !vy_adds_silently(a, t->at[n])) return false;"),
    ("ir/facts/addition.c", None, "a->p->insts.data[id].op == VY_OP_ATOMIC_ADD && !a->uses[id];",
     "a->p->insts.data[id].op == VY_OP_ATOMIC_ADD;"),
    ("ir/facts/addition.c", None, "k != but && !VY_IS_LEAF(index) && index >= loop", "k != but && !VY_IS_LEAF(index) && index > loop"),
    ("ir/facts/addition.c", None, "|| !is_index(p, access, up)) return false;", ") return false;"),
    ("ir/facts/addition.c", None, "vy_same_element(p, id, store) && untouched(a, id, store)", "vy_same_element(p, id, store)"),
    ("ir/pass/sums/promote.c", None, "return n && n <= x->count;", "return n > 0;"),
    # flat indices
    ("autodiff/affine/flat.c", None, "!sum_terms(l) || !in_range(l, 1) ||", "!sum_terms(l) ||"),
    ("autodiff/affine/flat_terms.c", None, "? then : other;", "? other : then;"),
    ("autodiff/gather/gather_find.c", None, "if (x->access.strided != y->access.strided) return false;", ""),
    # built-ins of a point
    ("autodiff/gather/gather_leaf.c", None, "case VY_SUBGROUP_SIZE: return false;", "case VY_SUBGROUP_SIZE: return true;"),
    ("autodiff/gather/gather_leaf.c", None, "if (axis < 2) return c->index[n - 1 - axis];",
     "if (axis < 2) return c->index[axis];"),
    ("autodiff/gather/gather_leaf.c", None, "return vy_rem(c->b, global_id(c, axis), size);",
     "return size.id ? global_id(c, axis) : size;"),
    ("autodiff/gather/gather_leaf.c", None, "return vy_div(c->b, global_id(c, axis), size);",
     "return vy_rem(c->b, global_id(c, axis), size);"),
    ("autodiff/gather/gather_leaf.c", None, "return vy_add(c->b, vy_div(c->b, vy_sub(c->b, n, one), size), one);",
     "return vy_div(c->b, n, size);"),
    ("autodiff/gather/gather_leaf.c", None, "z = vy_add(c->b, vy_mul(c->b, z, extent), c->index[k]);", "z = c->index[k];"),
    ("autodiff/gather/gather_leaf.c", None, "case VY_LEAF_BUILTIN: return has_builtin(g, l);",
     "case VY_LEAF_BUILTIN: return true;"),
    ("autodiff/affine/affine_number.c", None, "return (int)(n->overs - 1 - l->axis);", "return (int)l->axis;"),
    # access maps
    ("autodiff/affine/affine_value.c", None, "isl_pw_aff_sub(isl_pw_aff_copy(x.pa), isl_pw_aff_copy(y.pa));",
     "isl_pw_aff_copy(x.pa);"),
    ("autodiff/affine/affine_value.c", None, "int64_t by = mask ? c + 1", "int64_t by = mask ? c"),
    ("autodiff/affine/affine_value.c", None, "holds ? isl_pw_aff_le_set(x.pa, y.pa)", "holds ? isl_pw_aff_lt_set(x.pa, y.pa)"),
    ("autodiff/affine/iteration_domain.c", None, "if (step > 1) {", "if (step > 8) {"),
    ("autodiff/affine/iteration_domain.c", None, "bool then = vy_in_then(n->a->s, opener, n->place);", "bool then = true;"),
    # the walk over the points
    ("autodiff/affine/scan.c", None, """isl_set_align_params(isl_set_copy(context), isl_map_get_space(schedule));
    schedule = isl_map_align_params(isl_map_copy(schedule), isl_set_get_space(context));""",
     "isl_set_copy(context); schedule = isl_map_copy(schedule);"),
    ("autodiff/affine/scan.c", None, "r = vy_signed_add(l->b, r, vy_signed_constant(1));", ";"),
    ("autodiff/affine/scan_expression.c", None, "case isl_ast_expr_op_pdiv_r: return vy_signed_remainder(", "case isl_ast_expr_op_pdiv_r: return vy_signed_divide("),
    ("autodiff/affine/scan.c", None, "vy_signed_sub(b, vy_signed_value(at, most), origin);", "vy_signed_value(at, most);"),
    ("autodiff/affine/scan_arithmetic.c", None, "greatest ? vy_max(b, l, r).id : vy_min(b, l, r).id", "vy_max(b, l, r).id"),
    ("autodiff/affine/scan_lanes.c", None, "*step *= count / rest;", "*step *= count;"),
    ("autodiff/affine/scan_lanes.c", None, "l->lanes.lane = vy_rem(b, lane, row);", "l->lanes.lane = vy_div(b, lane, row);"),
    ("autodiff/affine/scan_taps.c", None, "return g.refused ? (vy_value){0} : g.all;", "return (vy_value){0};"),
    ("autodiff/affine/scan_taps.c", None, "? VY_OP_EQ : VY_OP_LE;", "? VY_OP_EQ : VY_OP_LT;"),
    # values, and what is kept of them
    ("autodiff/gather/gather_need.c", None, "return g->last_write[buffer] < from;", "return true;"),
    ("autodiff/gather/gather_clone.c", None, "kind = site->single ? GUARD : WHOLE;", "kind = TAKEN;"),
    ("autodiff/gather/gather_clone.c", None, "if (!vy_in_then(&g->s, opener, site)) vy_else(c->b);", ""),
    ("autodiff/gather/gather_clone.c", None, "for (uint32_t k = 0; k < overs; k++) args[n + k] = c->index[k].id;",
     "for (uint32_t k = 0; k < overs; k++) args[n + k] = c->index[0].id;"),
    ("autodiff/gather/gather_rest.c", None, "if (b->workspace && use[i]) ok = ok && vy_share_workspace(p, i);", ""),
    # the programs that gather
    ("autodiff/gather/gather_make.c", None, "had[k] = have;", ""),
    ("autodiff/gather/gather_trim.c", None, "g->programs[k].adds ? VY_INOUT : old->cls", "old->cls"),
    ("autodiff/gather/gather_make.c", None, "if (had[k].id) vy_set(w->b, sum, vy_add(w->b, had[k], vy_get(w->b, sum)));", ""),
    ("autodiff/gather/gather_programs.c", None, "(!g->sites[j].gathered || g->sites[j].program < k + 1)",
     "g->sites[j].gathered && g->sites[j].program < k + 1"),
    ("autodiff/gather/gather_tree.c", None, "row = vy_int(b, VY_U32, ROW)", "row = vy_int(b, VY_U32, ROW - 1)"),
    ("autodiff/gather/gather_tree.c", None, "    vy_barrier(b);\n    vy_if(b, vy_lt(b, lane,", "    vy_if(b, vy_lt(b, lane,"),
    # terms
    ("autodiff/deterministic/ordered_partials.c", None, "at = vy_add(b, vy_mul(b, at, n), own);", "at = own;"),
    ("autodiff/deterministic/ordered_partials.c", None, "vy_value step = vy_len(b, to, n), part", "vy_value step = u32(b, 2), part"),
    ("autodiff/deterministic/ordered_partials.c", None, "if (!q->once) v =", "if (false) v ="),
    ("autodiff/deterministic/ordered_partials.c", None, "if (fixed[k] != index)", "if (false)"),
    # exact sums
    ("autodiff/deterministic/exact_sum.c", None, "u32(b, APART)", "u32(b, APART - 1)"),
    ("autodiff/deterministic/exact_sum.c", None, "part(m >> 24, p + 24, minus)", "part(m >> 24, p + 23, minus)"),
    ("autodiff/deterministic/exact_sum.c", None, "r->minus = vy_lt(b, vy_get(b, carry), zero);", "r->minus = vy_ne(b, zero, zero);"),
    ("autodiff/deterministic/exact_sum.c", None, "vy_value wrapped = vy_ne(b, vy_lt(b, vy_add(b, old, q), old), minus);",
     "vy_value wrapped = vy_bool(b, false);"),
    ("autodiff/deterministic/accumulators.c", None, "inside = vy_and(b, inside, is_within(b, index[k], n));", ""),
    ("autodiff/deterministic/accumulators.c", None, "vy_add(b, vy_mul(b, e, n), ", "vy_add(b, e, "),
    # stages, and what their dispatches clear
    ("autodiff/deterministic/totals.c", None, "vy_drop_stage(p)) return p;", "true) return p;"),
    ("autodiff/gather/gather_kept.c", None, "if (kept->link) *link = kept->link;", ""),
    ("autodiff/deterministic/deterministic.c", None, "link = kept->link;", "link += 0;"),
    ("autodiff/stages/stages_shape.c", None, "&& other->role.parameter == b->role.parameter)", ")"),
    ("autodiff/stages/stages_groups.c", None, "if (c->stages[k]->overs.count && !c->whole->overs.count &&", "if (false &&"),
    ("autodiff/stages/stages_groups.c", None, ".index = scalar}", ".index = 0}"),
    ("autodiff/gather/gather_forms.c", None, "vy_dim_node one = {.op = VY_DIM_CONST, .value = 1}",
     "vy_dim_node one = {.op = VY_DIM_CONST, .value = 0}"),
    ("ir/core/names.c", None, "i && p->buffers.data[i].cls != VY_LOCAL ?", "i ?"),
    # counted loops
    ("autodiff/stages/counting_stages.c", None, "for k in 0u..t { at += min(sums[k], 4294967295u - at); }", ""),
    ("autodiff/stages/counting_stages.c", None, "base[c, k] = at;", "base[c, k] = 0;"),
    # the domain test
    ("ir/eval/eval_invocation.c", None, "inside &= gid[k] < m->size[k];", "inside &= k || gid[k] < m->size[k];"),
)

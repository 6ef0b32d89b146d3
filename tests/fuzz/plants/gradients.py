# SPDX-License-Identifier: MIT
"""Faults in gradients of programs, by what they are made of."""
GROUPS = (  # the test that notices, and what is changed, what is compiled, old, new
    # What begins as an input, in programs that run ahead and forwards.
    ("text/grad/control/counted_starts.vyre", (
        ("autodiff/reverse/params.c", None, "if (facts->heir && ahead)", "if (false)"),
    )),
    ("text/jvp/start_without_tangent.vyre", (
        ("autodiff/forward/forward_params.c", None, "b->cls == VY_OUT && is_loaded(f->w.p, i))", "false)"),
        ("autodiff/forward/forward_params.c", None, "    else if (b->cls == VY_OUT &&", "    if (b->cls == VY_OUT &&"),
    )),
    # Products of scalars that are numbers.
    ("text/grad/gather/products.vyre", (
        ("autodiff/gather/gather_calm.c", None, "if (g->calm.products) require_products(g, most, above);", ""),
        ("autodiff/gather/gather_calm.c", None, "if (multiplied && calm[k] < multiplied[k]) calm[k] = multiplied[k];", ""),
        ("autodiff/gather/gather_calm.c", None, "if (g->calm.products) make_numbers(g);", ""),
        ("autodiff/gather/gather_calm.c", None, "    return any || multiplied ? all : none;", "    return any ? all : none;"),
        ("autodiff/gather/gather_multiplied.c", None, "l->type == VY_I32 ? VY_AFFINE_POSITIVE :", "l->type == VY_I32 ? VY_AFFINE_IS_CALM :"),
        ("autodiff/gather/gather_multiplied.c", None, "l->type == VY_I32 ? VY_AFFINE_POSITIVE : VY_AFFINE_IS_CALM;", "VY_AFFINE_POSITIVE;"),
        ("autodiff/gather/gather_calm.c", None, "if (!product.id) continue;", "if (!product.id || g->launch.count > 1) continue;"),
        ("autodiff/gather/gather_multiplied.c", None, "products <= MOST_PRODUCTS &&", "products < 2 &&"),
        ("autodiff/affine/launch_numbers.c", None, "r = (vy_interval){x.lo && y.lo, VY_AFFINE_CALM};", "r = (vy_interval){1, VY_AFFINE_CALM};"),
        ("autodiff/affine/launch_numbers.c", None, "if (product && !n->products) return;", "if (product) return;"),
        ("autodiff/affine/launch_numbers.c", None, "is_quotient(n->p, id) || n->multiplies[id];", "is_quotient(n->p, id);"),
        ("autodiff/affine/launch_numbers.c", None, "n->number[id].dim = within(n, all, 0, VY_AFFINE_CALM);", "n->number[id].dim = all;"),
        ("autodiff/affine/launch_numbers.c", None, "return vy_id_type(n->p, id) == VY_I32\n", "return vy_id_type(n->p, id) != VY_VOID\n"),
        ("autodiff/affine/affine.c", None, "a->number_whole[e.base] = a->number_whole[a->numbers[id].dim] = 1;", ";"),
        ("autodiff/affine/affine_value.c", None, "if (w->n->a->numbers && w->n->a->numbers[id].product) return launched(w, id, x, y);", ""),
    )),
    # Numbers that are clamped from afar: an element has an interval of them.
    ("text/grad/gather/clamped.vyre", (
        ("autodiff/affine/clamped.c", None, "return any && vy_affine_ok(x->nest.a);", "return false;"),
        ("autodiff/affine/clamped.c", None, "near[k] = !is_beyond(x, c, true) && !is_beyond(x, c, false);", "near[k] = false;"),
        ("autodiff/affine/clamped.c", None, "if (c->hi) *most = vy_signed_select(l->b, less(l, e, hi), e, far);", ""),
        ("autodiff/affine/clamped.c", None, "*least = vy_signed_select(l->b, less(l, lo, e), e,", "*least = vy_signed_select(l->b, less(l, e, e), e,"),
        ("autodiff/affine/clamped.c", None, "if (none.id) *least", "if (false) *least"),
        ("autodiff/affine/clamped.c", None, "vy_value over = c->hi ? less(l, hi, e) : never;", "vy_value over = never;"),
        ("autodiff/affine/clamped.c", None, "if (over.id && c->lo && c->lo_last) over", "if (false) over"),
        ("autodiff/affine/clamped.c", None, "if (under.id && c->hi && !c->lo_last) under", "if (false) under"),
        ("autodiff/affine/clamped.c", None, "vy_signed_constant(c->most + 1);", "vy_signed_constant(1);"),
        ("autodiff/gather/gather_clamped.c", None, "in_order(w, w->least[k], w->ids[k]));", "in_order(w, w->ids[k], w->ids[k]));"),
    )),
    # A scalar that is one constant is no other.
    ("text/grad/gather/cases.vyre", (
        ("autodiff/gather/gather_cases.c", None, "return scalar && with_constant(p, id, &d) == scalar && c != d &&", "return false &&"),
        ("autodiff/gather/gather_cases.c", None, "with_constant(p, id, &d) == scalar &&", "with_constant(p, id, &d) &&"),
        ("autodiff/gather/gather_cases.c", None, "op == (x->holds ? VY_OP_EQ : VY_OP_NE)", "op == VY_OP_EQ"),
        ("autodiff/gather/gather_cases.c", None, "x->w.p->insts.data[id].op == VY_OP_NE).id", "false).id"),
    )),
    # Flat indices of buffers of vectors: the first axis has rows, the others are what they are.
    ("text/grad/gather/vector_rows.vyre", (
        ("autodiff/affine/access.c", None, "why = x->rank ? x->why[0]", "why = x->rank == 1 ? x->why[0]"),
        ("autodiff/affine/access.h", None, "k - x->flat + (x->flat > 0);", "k;"),
        ("autodiff/affine/flat.c", None, "    x->index[to] = whole->index[k];", "    x->index[to] = vy_nest_number(&x->nest, 0);"),
        ("autodiff/affine/flat.c", None, "    x->dim[to] = whole->dim[k];", "    x->dim[to] = whole->dim[0];"),
        ("autodiff/gather/gather_sums.c", None, "if (x->flat) index[0] = flat_index(w, x);", ""),
        ("autodiff/gather/gather_sums.c", None, "const uint32_t axis = vy_buffer_axis(&x->access, k);", "const uint32_t axis = 0;"),
        ("autodiff/gather/gather_domain.c", None, "    if (axis >= x->flat) return x->dim[axis];\n", ""),
        ("autodiff/affine/access.c", None, "const bool same = operand == vy_arg(a->p, like->id, axis);", "const bool same = true;"),
        ("autodiff/gather/gather_assume.c", None, "d->value < 256 && n < 256) n *= d->value;", "d->value < 256 && n < 256) n *= 1;"),
    )),
    # What is zero by a rule meets infinities of the data.
    ("special_values.py", (
        ("autodiff/reverse/sweep.c", None, "if (vy_rule_drops(r->p, id, k)) edge", "if (false) edge"),
        ("autodiff/reverse/sweep.c", None, "if (kind == RULE_PICK) edge", "if (false) edge"),
        ("autodiff/reverse/sweep.c", None, "const uint32_t seen = both(r, mask, c);", "const uint32_t seen = mask;"),
        ("autodiff/core/rules.c", None, "    case VY_OP_ABS:\n    case VY_OP_CLAMP:", "    case VY_OP_CLAMP:"),
        ("autodiff/core/rules.c", None, "return !other || (k == 0 ? other->f == 0 : other->f <= 0);", "return false;"),
        ("autodiff/facts/masks.c", None, "vy_rule_drops(f->p, id, k);", "false;"),
    )),
    # Loops that a gather copies, whose iterations may run in another order.
    ("text/grad/gather/iterations.vyre", (
        ("autodiff/gather/gather_iterations.c", None, "    if (is_site(t, id)) return free_of_chains", "    if (0) return free_of_chains"),
    )),
    # What rounding explains of a second derivative.
    ("text/grad/pipeline/multigrid.vyre", (
        ("autodiff/verify/check_tangent.c", None, "return *yes || trembles_with_data(c, p, n, slope, much, yes);", "return true;"),
        ("autodiff/verify/check_tangent.c", None, "data[e] = was[i][e] * (1 + (e % 2 ? -by : by));", "data[e] = was[i][e];"),
    )),
    # Loops that begin at their workgroup's place.
    ("uniform_starts.py", (
        ("ir/pass/device/uniform_starts.c", None, "return at->next ? vy_max(b, last, vy_add(b, last, u32(x, 1))) : last;", "return last;"),
        ("ir/pass/device/uniform_starts.c", None, "if (!is_reverse(x->w.p, loop)) return at->next", "if (1) return at->next"),
        ("ir/pass/device/uniform_starts.c", None, "return at->next ? vy_add(b, first, u32(x, 1)) : first;", "return vy_add(b, first, u32(x, 1));"),
        ("ir/pass/device/uniform_starts.c", None, "u32(x, size - 1)", "u32(x, 0)"),
        ("ir/pass/device/uniform_starts.c", None, "x.w.s.deepest <= MOST_DEEP;", "true;"),
        ("ir/pass/device/uniform_starts.c", None, "const uint32_t size = x->w.p->workgroup[at->axis];", "const uint32_t size = x->w.p->workgroup[0] + 1;"),
        ("ir/pass/device/uniform_starts.c", None, "vy_begin_else(b, slots, nexts);\n    vy_end_if(b, slots, carries, nexts);", "vy_begin_else(b, slots, nexts);\n    vy_end_if(b, slots, nexts, nexts);"),
    )),
    # Loops that walk back from their subgroup's greatest number, tiles, combined additions.
    ("combined_additions.py", (
        ("spirv/emit/emit_subgroup.c", None, "return reduce(f, i, VY_OP_SG_MAX);", "return reduce(f, i, VY_OP_SG_MIN);"),
        ("spirv/emit/emit_atomics.c", None, "VY_DO(f, SpvOpLogicalOr, bools, first, apart)", "vy_spv_bool(f->m, true)"),
        ("spirv/emit/emit_atomics.c", None, "vy_select_id(f, type, same, sum, own);", "own;"),
        ("spirv/emit/emit_atomics.c", None, "VY_DO(f, SpvOpGroupNonUniformAny, bools, scope, adds)", "VY_DO(f, SpvOpGroupNonUniformAll, bools, scope, adds)"),
        ("ir/pass/device/group_quotients.c", None, "return by->u % size ? 0 :", "return by->u < size ? 0 :"),
        ("ir/pass/device/uniform_starts.c", None, "(reverse ? vy_lt(b, k, start)", "(reverse ? vy_le(b, k, start)"),
    )),
    ("text/device/tiles.vyre", (
        ("ir/pass/device/uniform_starts.c", None, "kind_of(x, loop, own_end(p, loop));", "true;"),
        ("ir/pass/device/uniform_starts.c", None, "!kind_of(x, loop, own_start(p, loop)) &&", ""),
        ("ir/pass/device/uniform_starts.c", None, "{.subgroups = o->subgroup_add};", "{.subgroups = true};"),
        ("spirv/facts/combined.c", None, "&&\n                       !is_alone(p, s, equal, id);", ";"),
        ("spirv/facts/combined.c", None, " && !uses[id] &&", " &&"),
        ("ir/pass/device/group_quotients.c", None, "const bool alone = *axis < 2 || (*axis == 2 && p->overs.count == 3);", "const bool alone = *axis < 3;"),
        ("spirv/facts/combined.c", None, "if (differs(p, equal, vy_arg(p, id, k))) return false;", ";"),
        ("spirv/facts/program_scan.c", None, "m->options->combine_additions && enabled(m, needed) &&", "m->options->combine_additions &&"),
        ("spirv/facts/uniform.c", None, "if (kind == VY_EQUAL) return counts_alike(p, u, i);", ";"),
    )),
    # Checks of loops that are made before them.
    ("check_ahead.py", (
        ("ir/pass/device/check_ahead.c", None, "if (x->last != last) x->now++;", ""),
        ("ir/pass/device/check_ahead.c", None, "for (uint32_t end = 0; end < (f.axis == VY_NO_SIDE ? 1 : 2); end++) {", "for (uint32_t end = 0; end < 1; end++) {"),
        ("ir/pass/device/check_ahead.c", None, "for (uint32_t end = 0; end < (both ? 2 : 1); end++) {", "for (uint32_t end = 0; end < 1; end++) {"),
        ("ir/pass/device/check_ahead.c", None, "if (++x->iteration[k] < x->trips[k]) return true;", "return false;"),
        ("ir/pass/device/check_ahead.c", None, "return x->last ? vy_add(b, first, vy_int(b, VY_U32, size - 1)).id : first.id;", "return first.id;"),
        ("ir/pass/device/check_ahead.c", None, "if (p->insts.data[id].op == VY_OP_SELECT) check_condition(x, loop, vy_arg(p, id, 0));", ""),
        ("ir/pass/device/check_ahead.c", None, "const bool less = p->insts.data[id].op == VY_OP_LT;", "const bool less = false;"),
        ("ir/pass/device/check_ahead.c", None, "check_condition(x, loop, vy_arg(x->w.p, id, 1));", ""),
        ("ir/pass/device/check_forms.c", None, "x->of[id].kept = false;", ""),
        ("ir/pass/device/check_forms.c", None, "slope += i->op == VY_OP_ADD ? b.slope : -(int64_t)b.slope;", "slope += b.slope;"),
        ("ir/pass/device/check_forms.c", None, "const bool alone = axis < 2 || p->overs.count == 3;", "const bool alone = true;"),
        ("ir/pass/device/check_forms.c", None, "(a.axis == VY_NO_SIDE || b.axis == VY_NO_SIDE || a.axis == b.axis);", "true;"),
    )),
    ("text/device/check_ahead.vyre", (
        ("ir/pass/device/check_ahead.c", None, "        require_order(x, m);\n        require_order(x, n);\n", ""),
        ("ir/pass/device/check_forms.c", None, "if (op != VY_OP_LT && op != VY_OP_LE) return false;", "if (op != VY_OP_LT) return false;"),
        ("ir/pass/device/check_forms.c", None, "return p->insts.data[id].op == VY_OP_SELECT && is_zero(p, vy_arg(p, id, 2)) &&", "return p->insts.data[id].op == VY_OP_SELECT &&"),
        ("ir/pass/device/check_forms.c", None, "suits &= vy_op_infos[x->w.p->insts.data[id].op].effect != VY_CONV;", ""),
        ("ir/pass/device/check_forms.c", None, "&& !in_second_arm(x, loop);", ";"),
        ("ir/pass/device/check_forms.c", None, "vy_constant_trips(p, loop, &trips)) return false;", "vy_constant_trips(p, loop, &trips)) ;"),
        ("ir/pass/device/check_ahead.c", None, "fresh->insts.data[load].flags &= (uint8_t)~VY_FLAG_FIRSTS;", ""),
        ("ir/pass/device/check_ahead.c", None, "if (!o || !o->uniform_starts || !p->overs.count || p", "if (!o || !p->overs.count || p"),
    )),
    ("text/device/workgroup_planes.vyre", (
        ("ir/pass/device/workgroup_planes.c", None, "!o->uniform_starts || p->has_workgroup ||", "!o->uniform_starts ||"),
        ("ir/pass/device/workgroup_planes.c", None, "!o || !o->uniform_starts ||", "!o ||"),
        ("ir/pass/device/workgroup_planes.c", None, "p->workgroup[2] < 2) return true;", "!p->workgroup[2]) return true;"),
        ("ir/pass/device/workgroup_planes.c", None, "    if (vy_sees_workgroup(p)) return true;\n", ""),
        ("ir/pass/device/workgroup_planes.c", None, "if (!loops || i->op", "if (i->op"),
        ("ir/pass/device/workgroup_planes.c", None, "&& !along[0][id] &&", "&&"),
        ("ir/pass/device/workgroup_planes.c", None, "&& !along[1][id]) return true;", ") return true;"),
        ("ir/pass/device/workgroup_planes.c", None, "!has_room(p, o, 0, x) ||", ""),
        ("ir/pass/device/workgroup_planes.c", None, "|| !has_room(p, o, 1, y)) return true;", ") return true;"),
        ("ir/pass/device/workgroup_planes.c", None, "constant ? constant : o->extent", "o->extent"),
    )),
    ("text/device/folded_zeros.vyre", (
        ("spirv/emit/emit_math.c", None, "if (!f->m->hooks->factor) return one;", "return one;"),
    )),
    ("text/device/uniform_starts.vyre", (
        ("ir/pass/device/uniform_starts.c", None, " || vy_exits(p, loop))", ")"),
        ("ir/pass/device/uniform_starts.c", None, "!is_one(p, vy_arg(p, loop, 2)) ||", ""),
        ("ir/pass/device/uniform_starts.c", None, "is_one(p, vy_arg(p, id, 1));", "vy_id_const(p, vy_arg(p, id, 1));"),
        ("ir/pass/device/uniform_starts.c", None, "!(load && is_written(p, i->aux))", "true"),
        ("ir/pass/device/uniform_starts.c", None, "return !(kind_of(x, loop, vy_arg(p, id, p->buffers.data[i->aux].rank - 1)) & COUNTED);", "return true;"),
        ("ir/pass/device/uniform_starts.c", None, "const bool open = !p->has_workgroup &&", "const bool open ="),
        ("ir/pass/device/uniform_starts.c", None, "return extent >= 0 && extent < size;", "return false;"),
        ("ir/pass/device/uniform_starts.c", None, "if (at->next) id = vy_arg(p, id, 0);", "while (!VY_IS_LEAF(id) && (at->next || p->insts.data[id].op == VY_OP_CAST)) id = vy_arg(p, id, 0);"),
    )),
    # Elements of shared arrays to which all invocations of a workgroup add, summed in order.
    ("text/grad/shared/lane_sums.vyre", (
        ("autodiff/facts/phase_sum.c", None, ".loads & ~summed) summed &=", ".loads & 0) summed &="),
        ("autodiff/facts/phase_sum.c", None, "if (!is_uniform(s, vy_arg(s->p, load, k))) return false;", ";"),
        ("autodiff/facts/phase_sum.c", None, "if (s->differs[up] || !s->facts->summed[up] || tests)", "if (tests)"),
        ("autodiff/reverse/sweep_lane_sums.c", None, "    if (rows > 1) make_rows(r, lane, rows);\n", ""),
        ("autodiff/reverse/sweep_lane_sums.c", None, "(lanes > r->p->workgroup[0] && vy_has_padding(r->p))", "false"),
        ("autodiff/reverse/sweep_lane_sums.c", None, "    vy_barrier(b);\n    if (rows > 1)", "    if (rows > 1)"),
        ("autodiff/reverse/sweep_lane_sums.c", None, "if (!at_barrier) vy_barrier(b);", ""),
        ("autodiff/reverse/sweep_lane_sums.c", None, "if (part.id && vy_has_padding(r->p))", "if (false)"),
        ("autodiff/reverse/sweep_lane_sums.c", None, "if (mask) add_mask(", "if (false) add_mask("),
        ("autodiff/reverse/sweep_lane_sums.c", None, "    if (parts->used == parts->count) vy_lane_sums_make(r, false);\n", ""),
        ("autodiff/reverse/sweep_lane_sums.c", None, "type_of(r, load) == parts->type;", "true;"),
        ("autodiff/reverse/sweep.c", None, "if (r->facts.summed && r->facts.summed[opener]) vy_lane_sums_make(r, false);", ""),
        ("autodiff/reverse/sweep.c", None, "        vy_lane_sums_make(r, true);\n", ""),
        ("autodiff/storage/spill.c", None, "VY_SHARED_BYTES && r->build.sums.adjoints.count)", "VY_SHARED_BYTES && false)"),
    )),
    # … and those of which the derivative is used where the invocation also stores to them.
    ("text/grad/shared/arms_stored.vyre", (
        ("autodiff/facts/arm_owner.c", None, "if (is_in(a, user)) return true;", "if (a) return true;"),
        ("autodiff/facts/arm_owner.c", None, "return !is_of_other(a, user, value);", "return true;"),
        ("autodiff/facts/arm_owner.c", None, "!has_same_index(f->p, load, store)) return false;", "false) return false;"),
        ("autodiff/facts/arm_owner.c", None, "vy_in_then(s, opener, store)};", "true};"),
        ("autodiff/facts/phase_owner.c", None, "if (o->barriers[load] == o->barriers[last]) return", "if (last) return"),
        ("autodiff/facts/phase_owner.c", None, "!(in_phase >> j & 1) || single_of(o, loads[j]) == only;", "true;"),
        ("autodiff/facts/phase_owner.c", None, "if (depth < MOST_DEPTH && is_same_number(o, i, id))", "if (false)"),
        ("autodiff/reverse/sweep_memory.c", None, "opener, store) ? c.id : vy_not(r->b, c).id;", "opener, store) ? c.id : c.id;"),
        ("autodiff/reverse/sweep_memory.c", None, "    if (arm) vy_begin_if(r->b, arm);", "    if (arm) vy_begin_if(r->b, vy_bool(r->b, true).id);"),
    )),
    # Elements that are one invocation's if a condition of the launch holds.
    ("text/grad/own/grid.vyre", (
        ("autodiff/gather/gather_grid.c", None, "one ? 1 : GATHER_GRID;", "GATHER_GRID;"),
        ("autodiff/gather/gather_grid.c", None, "gather_less(g, n, gather_number(g, most + 1)) : n;", "gather_number(g, 1) : n;"),
        ("autodiff/gather/gather_grid.c", None, "!(apart >> (2 - axis) & 1))", "false)"),
        ("autodiff/gather/gather_own.c", None, "vy_isl_map_is_injective(all) == isl_bool_true;", "all != NULL;"),
        ("autodiff/gather/gather_vain.c", None, "b->type == VY_F16 ?", "false ?"),
        ("autodiff/gather/gather_vain.c", None, "if (!g->owners->placed[buffer] || !proved[buffer]) g->sites", "if (!g->owners->placed[buffer]) g->sites"),
        ("autodiff/gather/gather_own.c", None, "if (!begin.r->overs.count) begin.assume_count = 0;", ""),
        ("autodiff/affine/flat_terms.c", None, "if (a->multiples && vy_id_int(a->p, id, &c))", "if (false && vy_id_int(a->p, id, &c))"),
        ("autodiff/gather/gather_winner.c", None, "!c->shared && is_shared(c, id)", "is_shared(c, id)"),
    )),
    ("text/grad/own/domain.vyre", (
        ("autodiff/gather/gather_own.c", None, "const vy_dim holds = gather_holds(g);", "const vy_dim holds = {0};"),
        ("autodiff/gather/gather_own.c", None, "gather_assume_rows(g, &g->sites[k], x.w.b);", ";"),
    )),
    ("text/grad/own/left.vyre", (
        ("autodiff/gather/gather_grid.c", None, "const vy_dim holds = n.id ? gather_less(", "const vy_dim holds = one ? gather_number(g, 1) : n.id ? gather_less("),
        ("autodiff/gather/gather_vain.c", None, "(t->groups && l->index == VY_LID)", "false"),
        ("autodiff/gather/gather_vain.c", None, "op == VY_OP_ATOMIC_ADD || op == VY_OP_ATOMIC_OR;", "op == VY_OP_ATOMIC_ADD;"),
        ("autodiff/gather/gather_vain.c", None, "bool gather_add_places(gather *g)\n{", "bool gather_add_places(gather *g)\n{\n    if (g) return true;"),
        ("autodiff/gather/gather_attempts.c", None, "!gather_has_additions(left.r) || own(&left);", "true;"),
        ("autodiff/gather/gather_attempts.c", None, "gather_by_cases(begin, own_case, false, &none, made)", "true"),
        ("autodiff/gather/gather_divided.c", None, "(factor[id] || g->owns)", "factor[id]"),
        ("autodiff/gather/gather_own.c", None, "n += g->a.rows[k].axis[i].condition != NULL;", ";"),
        ("autodiff/gather/gather_own.c", None, "gather_is_beside(g, x->id, y->id);\n        for (uint32_t j = 0;", "true;\n        for (uint32_t j = 0;"),
        ("autodiff/affine/flat_terms.c", None, "k < t->count && !r->summed; k++)", "k < t->count; k++)"),
    )),
    # Sums over workgroups of what a workgroup has made together.
    ("text/grad/gather/workgroups.vyre", (
        ("autodiff/gather/gather_attempts.c", None, "    if (!own_all(&first, &done)) return false;\n    if (done) return true;", "    if (!own_all(&first, &done)) return false;\n    if (true) return true;"),
        ("autodiff/gather/gather_attempts.c", None, "if (!own_all(&first, &done)) return false;", ""),
        ("autodiff/gather/gather_attempts.c", None, "    if (begin->notes) before =", "    if (false) before ="),
        ("autodiff/gather/gather_attempts.c", None, "    split &= !g->meets;", "    "),
        ("autodiff/gather/gather_need.c", None, "n->g->meets ? 0 : 1;", "1;"),
        ("autodiff/gather/gather_need.c", None, "case VY_CONV: return keep(n, id);", "case VY_CONV: demand_args(n, id); return true;"),
        ("autodiff/gather/gather_cost.c", None, " || begins_apart(site)", ""),
    )),
    ("text/shader/gathered_beside.comp", (
        ("autodiff/gather/gather_cost.c", None, "        if (price_lanes(g, k)) continue;\n", ""),
    )),
    # Loads that give what a buffer began as.
    ("text/grad/gather/begun.vyre", (
        ("autodiff/gather/gather_begun_find.c", None, "if (!is_same_place(g, x->place, id)) return false;", ""),
        ("autodiff/gather/gather_begun_find.c", None, "if (is_same_element(g, k, id) || ++steps", "if (++steps"),
        ("autodiff/gather/gather_begun_find.c", None, "f->before[id] = f->last[i->aux];", ""),
        ("autodiff/gather/gather_begun_find.c", None, "m && vy_isl_map_is_injective(m) == isl_bool_true;", "m != NULL;"),
        ("autodiff/gather/gather_begun_find.c", None, "if (x->proved && site->access.rows) take_rows(", "if (false) take_rows("),
        ("autodiff/gather/gather_begun.c", None, "    if (start.init == VY_INIT_COPY)", "    if (false)"),
        ("autodiff/gather/gather_begun.c", None, "    return vy_select(b, all, one, vy_zero(b, (vy_type)i->type)).id;", "    return one.id;"),
        ("autodiff/gather/gather.c", None, "        gather_require_begun(g);\n", ""),
    )),
    # Rows of a block of 32 invocations are as many as the one that needs the most.
    ("text/grad/control/counted_lanes.vyre", (
        ("autodiff/stages/counting_stages.c", None, "for lane in 0..32 {", "for lane in 0..31 {"),
        ("autodiff/stages/counting_stages.c", None, "        let most = base[c, k];\\n", "        let most = count[c, k, 0];\\n"),
        ("autodiff/reverse/build.c", None, "lane = vy_rem(r->b, at, each).id;", "lane = vy_int(r->b, VY_U32, 0).id;"),
    )),
    # What additions add, kept.
    ("text/grad/gather/addends.vyre", (
        ("autodiff/gather/gather_addend.c", None, "if (!is_all_gathered(g)) return false;", ""),
        ("autodiff/gather/gather_addend.c", None, "is_cheap(g, site)) continue", "(is_cheap(g, site), false)) continue"),
        ("autodiff/gather/gather_cost.c", None, " && kept_by(g, program) <= most)", ")"),
        ("autodiff/gather/gather_addend.c", None, "g->kept.count > before + MOST", "false"),
        ("autodiff/gather/gather_cost.c", None, "    if (g->addends) gather_keep_less(g, g->addends - 1);", ""),
        ("autodiff/gather/gather_later.c", None, "vy_type_size(vy_id_type(s->g->r, id)) == bytes",
         "vy_id_type(s->g->r, id) == vy_id_type(s->g->r, s->from)"),
        ("autodiff/gather/gather_cost.c", None, "if (!pays_if_kept(g, k, 0, MOST_KEPT)) ", ""),
    )),
    # Extents of the domain that are negative.
    ("text/grad/gather/negative_extents.vyre", (
        ("autodiff/gather/gather_kept.c", None, "most.id ? vy_dim_natural(b, most) : most;", "most;"),
        ("autodiff/gather/gather_kept.c", None, "vy_dim_natural(b, axes[j].extent).id;", "axes[j].extent.id;"),
        ("autodiff/affine/scan_names.c", None, "    if (!domain) return v;", "    if (v.id) return v;"),
        ("autodiff/affine/scan_names.c", None, "a->extent[q->index] == VY_AFFINE_DOMAIN &&", "t == VY_I32 &&"),
    )),
    # Scalars far from where arithmetic wraps around.
    ("text/grad/gather/calm.vyre", (
        ("autodiff/gather/gather_calm.c", None, "if (g->calm.products || (g->calm.signs && g->owns)) return none;", "return none;"),
        ("autodiff/gather/gather_calm.c", None, "gather_less(g, greatest, above)", "gather_number(g, 1)"),
        ("autodiff/gather/gather_calm.c", None, "gather_less(g, gather_number(g, bound - 1), least)", "gather_number(g, 1)"),
        ("autodiff/gather/gather_calm.c", None, "greatest ? VY_DIM_MAX : VY_DIM_MIN, all, d", "VY_DIM_MIN, all, d"),
        ("autodiff/affine/launch_numbers.c", None, "if (r.lo < least) r.lo = least;", ""),
        ("autodiff/affine/scan_names.c", None, "if (kind == VY_AFFINE_IS_CALM)", "if (false)"),
        ("autodiff/affine/most.c", None, "const vy_dim end = sum ? piece_extent", "const vy_dim end = false ? piece_extent"),
        ("autodiff/gather/gather_domain.c", None, "if (n.pa && n.range.hi > 0 &&", "if (false && n.range.hi > 0 &&"),
        ("autodiff/gather/gather_assume.c", None, "        r->axis[k].extent = vy_affine_above(&g->a, g->r, s->reached[k]);", "        r->axis[k].extent = (vy_dim){0};"),
    )),
    ("text/opt/by_zero.vyre", (
        ("ir/build/fold.c", None, "R(DIV,    is_int,   EXACT, IS(1, 0),                      B)", "R(DIV,    is_int,   EXACT, IS(1, 0),                      A)"),
        ("ir/build/fold.c", None, "R(REM,    is_int,   EXACT, IS(1, 0),                      B)", "R(REM,    is_int,   EXACT, IS(1, 0),                      A)"),
        ("ir/build/fold.c", None, "R(DIV,    is_int,   EXACT, IS(0, 0),                      A)", "R(DIV,    is_int,   EXACT, IS(0, 0),                      B)"),
        ("ir/build/fold.c", None, "R(REM,    is_int,   EXACT, IS(0, 0),                      A)", "R(REM,    is_int,   EXACT, IS(0, 0),                      B)"),
    )),
    ("text/grad/gather/quotients.vyre", (
        ("autodiff/gather/gather_calm.c", None, "    require_least(g, VY_AFFINE_NATURAL, 0);\n", ""),
        ("autodiff/gather/gather_calm.c", None, "    require_least(g, VY_AFFINE_POSITIVE, 1);\n", ""),
        ("autodiff/gather/gather_divided.c", None, "    case VY_OP_ADD:\n", ""),
        ("autodiff/gather/gather_split_numbers.c", None, "    gather_require(g, zero, least, gather_less(g, below, least));\n", ""),
        ("autodiff/gather/gather_split_numbers.c", None, "    g->split.kind = all;\n", ""),
        ("autodiff/gather/gather_strides.c", None, "    if (divides(&r->axis[x], &r->axis[y])) return true;\n", ""),
        ("autodiff/gather/gather_either.c", None, "        if (!strcmp(all->condition[k], kept)) return;\n", ""),
        ("autodiff/affine/affine_divide.c", None, "if (!positive(y) || !is_natural(n, x)) return", "if (!positive(y)) return"),
        ("autodiff/affine/affine_divide.c", None, "isl_set *one = vy_isl_set_subtract(isl_set_copy(a), isl_set_copy(b));", "isl_set *one = vy_isl_set_union(isl_set_copy(a), isl_set_copy(b));"),
        ("autodiff/affine/affine_divide.c", None, "return holds ? vy_isl_set_intersect(all, one)", "return !holds ? vy_isl_set_intersect(all, one)"),
        ("autodiff/affine/affine_value.c", None, "x = vy_affine_divide_down(w->n, mask ? VY_OP_REM : VY_OP_DIV, x, by);",
         "{\n        vy_affine_why why = VY_AFFINE_FINE;\n        x = vy_affine_divide(w->n, mask ? VY_OP_REM : VY_OP_DIV, x, (vy_number){vy_nest_number(w->n, by), {by, by}}, &why);\n    }"),
        ("autodiff/affine/launch_numbers.c", None, ".op = VY_DIM_MAX, .a = d, .b = constant(n, 1)", ".op = VY_DIM_MAX, .a = d, .b = constant(n, 2)"),
        ("autodiff/affine/launch_numbers.c", None, "    case VY_OP_DIV:\n    case VY_OP_SHR: return VY_DIM_DIV;", "    case VY_OP_DIV:\n    case VY_OP_SHR: return VY_DIM_REM;"),
        ("autodiff/affine/launch_numbers.c", None, "    if (x.lo < 0 || y.lo < divides) return;\n", ""),
    )),
    # Where a maximum was.
    ("text/grad/gather/winner.vyre", (
        ("autodiff/gather/gather_won.c", None, "vy_slot_next(p, &w->s, loop, k);\n    if (VY_IS_LEAF(next) || inst(w, next)->op != VY_OP_SELECT) return 0;", "vy_slot_next(p, &w->s, loop, k);\n    return 0;"),
        ("autodiff/gather/gather_won.c", None, "if (of && vy_truth(w, known, *any) == 1)", "if (of && vy_truth(w, known, *any) != 0)"),
        ("autodiff/gather/gather_won.c", None, "if (won) return is_same_choice(w, truth, won, sense) ? loop : 0;", "if (won) return loop;"),
        ("autodiff/gather/gather_won.c", None, "return (x == loop && y == carry) || (x == carry && y == loop) ? ", "return x == loop || y == loop ? "),
        ("autodiff/gather/gather_winner.c", None, "(vy_value){c->counter[k]}, won).id);", "(vy_value){c->counter[k]}, (vy_value){c->counter[k]}).id);"),
        ("autodiff/gather/gather_winner.c", None, "if (passes(c, &c->leave[k], id)) which[n++] = k;", "if (false) which[n++] = k;"),
        ("autodiff/gather/gather_winner.c", None, "l->in[l->own + k] = here ? fresh :", "l->in[l->own + k] = !here ? fresh :"),
    )),
    # … in each of nested loops.
    ("text/grad/gather/winner_nested.vyre", (
        ("autodiff/gather/gather_won.c", None, "vy_slot_init(w->p, inner, at) != vy_carry(loop, k)", "false"),
        ("autodiff/gather/gather_won.c", None, "(won->any && won->any != any) ||", ""),
        ("autodiff/gather/gather_won.c", None, "k > 0 && won->loop[k - 1] > loop; k--", "k > 0 && won->loop[k - 1] < loop; k--"),
        ("autodiff/gather/gather_won.c", None, "return inst(w, inner)->op == VY_OP_LOOP && w->s.parent[inner] == loop ? inner : 0;", "return 0;"),
        ("autodiff/gather/gather_won.c", None, "loop_of(w, loop, truth, &here) != inner", "!loop_of(w, loop, truth, &here)"),
        ("autodiff/gather/gather_units.c", None, "gather_try_winners(p, false, &all) &&", ""),
        ("autodiff/gather/gather_number.c", None, "(won->loops == 1 || is_whole(w, won->loop[k]))", "true"),
        ("autodiff/gather/gather_number.c", None, " &&\n           !vy_keep(w->p, &w->s, loop)", ""),
        ("autodiff/gather/gather_number.c", None, "vy_select(b, any, number(b, n, at), none)", "number(b, n, at)"),
        ("autodiff/gather/gather_number.c", None, "vy_ne(b, n->place, none)", "vy_eq(b, n->place, none)"),
        ("autodiff/gather/gather_number.c", None, "vy_arg(p, loop, k) >= outer", "vy_arg(p, loop, k) > outer"),
        ("autodiff/gather/gather_number.c", None, "vy_mul(b, sum, n->length[k])", "sum"),
    )),
    # Additions of what is zero in all invocations but one.
    ("text/grad/own/once.vyre", (
        ("autodiff/gather/gather_once.c", None, "sense ? holds.id : vy_not(w->b, holds).id", "holds.id"),
        ("autodiff/gather/gather_once.c", None, "*sense = is_zero(p, no);", "*sense = !is_zero(p, no);"),
        ("autodiff/gather/gather_once.c", None, "return c && c->f == 0;", "return c != NULL;"),
        ("autodiff/gather/gather_versions.c", None, "|| !gather_guard_once(q) ", ""),
        ("autodiff/gather/gather_attempts.c", None, "if (!gather_guard_once(whole))", "if (false)"),
    )),
    # Points that no loop is needed for are not looked for among all.
    ("text/grad/gather/clamps.vyre", (
        ("autodiff/affine/scan.c", None, "vy_tree_walks(tree) < vy_tree_walks(other)", "false"),
    )),
    # A maximum over nested loops has one winner.
    ("text/grad/rewrite/argmax_nested.vyre", (
        ("autodiff/rewrite/argmax.c", None, "    *loop = inner;\n    *k = slot;\n    return true;", "    return false;"),
        ("autodiff/rewrite/argmax.c", None, "vy_slot_init(p, inner, slot) != carry || ", ""),
        ("autodiff/rewrite/argmax.c", None, "w->uses[carry] != 1 || w->uses[next] != 1)\n        return false;\n    *loop", "w->uses[next] != 1)\n        return false;\n    *loop"),
        ("autodiff/rewrite/argmax.c", None, "i->op != VY_OP_CARRY || !is_loop_of(c, vy_arg(w->w.p, id, 0));", "true;"),
        ("autodiff/rewrite/argmax.c", None, "        if (!level) c->at[j] =", "        c->at[j] ="),
        ("autodiff/rewrite/argmax.c", None, "if (is_loop_of(c, id)) w->slice[id] = 0;", ""),
        ("autodiff/rewrite/argmax.c", None, "!is_passed(w, loop, k) && ", ""),
    )),
    # Strides with constant factors, and one index in several places.
    ("text/grad/gather/packed.vyre", (
        ("autodiff/affine/flat_terms.c", None, "    along.constant /= x->constant;\n", ""),
        ("autodiff/affine/flat_terms.c", None, "t->constant % r->axis[k].constant))", "false))"),
        ("autodiff/gather/gather_strides.c", None, "x->constant = vy_common_divisor(constant, x->constant);", "x->constant = constant;"),
        ("autodiff/gather/gather_assume.c", None, "    if (r->axis[k].constant != 1)\n", "    if (false)\n"),
        ("autodiff/gather/gather_assume.c", None, "gather_is_beside(g, x->id, y->id) &&", "true &&"),
        ("autodiff/gather/gather_site.c", None, "gather_is_beside(g, like->id, site->id) &&", "true &&"),
        ("autodiff/gather/gather_calm.c", None, "if (calm && (divided || why.unmet || g->calm.scalar)) see_indices", "if (calm && why.unmet) see_indices"),
        ("autodiff/affine/most.c", None, "if (n.range.lo < 0) d = binary", "if (false) d = binary"),
        ("autodiff/affine/most.c", None, "x.times <= MOST_TIMES && !x.end.id", "x.times < MOST_TIMES && !x.end.id"),
    )),
    # A program for each of the cases that scalars choose between.
    ("text/grad/gather/cases.vyre", (
        ("autodiff/gather/gather_versions.c", None, "if (x[i] != y[i] && vy_is_global", "if (false && vy_is_global"),
        ("autodiff/gather/gather_cases.c", None, "const vy_dim at_most = negation(g, gather_less(g, y, x));", "const vy_dim at_most = gather_less(g, x, y);"),
        ("autodiff/gather/gather_cases.c", None, "vy_bool(x->w.b, same ? x->holds :", "vy_bool(x->w.b, same ? true :"),
        ("autodiff/gather/gather_cases.c", None, "holds.id ? gather_node(g, VY_DIM_MIN, holds, fails) : fails", "fails"),
        ("autodiff/gather/gather_cases.c", None, "holds.id ? gather_node(g, VY_DIM_MIN, holds, is) : is", "is"),
        ("autodiff/gather/gather_cases.c", None, "p->insts.data[x].op == p->insts.data[y].op &&", "true &&"),
        ("autodiff/gather/gather_cases.c", None, "&by[i->aux][arm == 1];", "&by[i->aux][0];"),
        ("autodiff/gather/gather_calm.c", None, "    require_extents(g, most, above);\n", ""),
        ("autodiff/gather/gather_calm.c", None, "if (!divided && !why.wraps) return none;", "if (g->calm.scalar || (!divided && !why.wraps)) return none;"),
    )),
    # Elements that a launch shows to be stored once.
    ("text/grad/gather/apart.vyre", (
        ("autodiff/gather/gather_apart.c", None, "gather_take_version(&all, general, gather_else(g, x->holds));", "gather_take_version(&all, general, gather_number(g, 0));"),
        ("autodiff/gather/gather_apart.c", None, "x->holds = gather_holds(g);", "x->holds = gather_number(g, 1);"),
        ("autodiff/gather/gather_apart.c", None, "origin = gather_origin(p, i->aux);", "origin = 0;"),
        ("autodiff/gather/gather_apart.c", None, "return vy_select(to, all, one,", "return vy_select(to, vy_bool(to, true), one,"),
        ("autodiff/gather/gather_apart_places.c", None, "ok = ok && (!all || vy_isl_map_is_disjoint(all, m) == isl_bool_true);", ""),
        ("autodiff/gather/gather_apart_places.c", None, "(loops && !is_once(m, overs, loops))", "false"),
        ("autodiff/gather/gather_apart_places.c", None, "if (!is_at(g, id, load, skip) ||", "if (!vy_same_index(p, id, load, VY_NO_AXIS) ||"),
        ("autodiff/gather/gather_assume.c", None, "r->steps = g->owns && gather_has_steps(g, r->buffer);", ""),
        ("autodiff/gather/gather_calm.c", None, ".quotients = g->owns,", ".quotients = false,"),
        ("autodiff/affine/iteration_domain.c", None, "vy_isl_pw_aff_add_constant_val(v, 1), by->value);", "v, by->value);"),
    )),
    # Scalars that are 1, and those that are met late.
    ("text/grad/gather/units.vyre", (
        ("autodiff/gather/gather_units.c", None, "gather_less(g, greatest, two)", "gather_number(g, 1)"),
        ("autodiff/gather/gather_units.c", None, "gather_less(g, zero, least)", "gather_number(g, 1)"),
        ("autodiff/gather/gather_units.c", None, "if (u->size[l->index] || ", "if ("),
        ("autodiff/gather/gather_units.c", None, "if (!vy_vec_push(&version->assumes, u->within[k]) ||", "if ("),
        ("autodiff/gather/gather_calm.c", None, "take_kind(calm, l->index, VY_AFFINE_POSITIVE);", "(void)calm;"),
        ("autodiff/gather/gather_calm.c", None, "take_kind(calm, l->index, VY_AFFINE_NATURAL);", "(void)calm;"),
        ("autodiff/gather/gather_calm.c", None, "if (!divided) see_openers(g, site->id, in, calm);", ""),
        ("autodiff/gather/gather_split.c", None, "g->split.count < GATHER_SPLITS", "g->split.count < 1"),
    )),
    # Programs without a domain, over the invocations of their launch.
    ("text/grad/gather/groups.vyre", (
        ("autodiff/gather/gather_groups.c", None, "const int64_t most = x->has[axis] ? GATHER_GRID : 1;", "const int64_t most = GATHER_GRID;"),
        ("autodiff/gather/gather_groups.c", None, "version && gather_has_additions(version) &&", "version &&"),
        ("autodiff/gather/gather_versions.c", None, "!vy_stages_replace_by_one(", "!vy_stages_replace_some("),
        ("autodiff/gather/gather_groups.c", None, "case VY_LID: return local_id(x, l->axis);", "case VY_LID: return group_id(x, l->axis);"),
        ("autodiff/gather/gather_groups.c", None, "case VY_WID: return group_id(x, l->axis);", "case VY_WID: return x->variable[l->axis];"),
        ("autodiff/gather/gather_groups.c", None, "const vy_value rows = vy_mul(b, v, number(x, x->size[axis]));", "const vy_value rows = v;"),
        ("autodiff/gather/gather_groups.c", None, "if (is_lane(l)) return false;", "if (is_lane(l)) continue;"),
        ("autodiff/gather/gather_groups.c", None, "begin->meets ? NULL : version_of(&g, &x);", "version_of(&g, &x);"),
        ("autodiff/gather/gather_groups.c", None, "n = vy_dim_binary(b, VY_DIM_MUL, n, vy_dim_const(b, x->size[axis]));", ""),
        ("autodiff/gather/gather_place.c", None, "g->split.guarded ? g->split.how[0] : NULL;", "NULL;"),
        ("autodiff/gather/gather_place.c", None, "part, 0, s->count).id;", "part, 0, 1).id;"),
        ("autodiff/gather/gather_attempts.c", None, "if (done || !wants || begin->keeps) return true;", "return true;"),
        ("autodiff/gather/gather_cases.c", None, "if (*done && g.probe)", "if (false)"),
        ("autodiff/gather/gather_units.c", None, "if (g.probe) *g.probe = (gather_probe){.all = true, .open = true};", ""),
        ("autodiff/stages/stages_groups.c", None, "(!any || order_operands(p));", "true;"),
        ("autodiff/stages/stages_groups.c", None, "if (p->overs.count && !c->whole->overs.count &&", "if (false &&"),
        ("autodiff/stages/stages_groups.c", None, ".index = scalar}", ".index = 0}"),
        ("autodiff/stages/stages_groups.c", None, ", .link = ++m->links}", "}"),
    )),
    # Bounds of loops and clamps as conjunctions.
    ("text/grad/gather/clamps.vyre", (
        ("autodiff/affine/affine_clamp.c", None, "|| lo.range.hi > hi.range.lo", ""),
        ("autodiff/affine/affine_clamp.c", None, "*(outer == VY_OP_MIN ? lo : hi) =", "*lo ="),
        ("autodiff/affine/affine_value.c", None, "op == (holds ? VY_OP_EQ : VY_OP_NE)", "op == VY_OP_EQ || op == VY_OP_NE"),
        ("autodiff/affine/iteration_domain.c", None, "if (!first && lower) return false;", "if (lower) return first;"),
    )),
    # Quotients of multiples.
    ("text/grad/gather/multiples.vyre", (
        ("autodiff/gather/gather_multiples.c", None, "gather_node(g, VY_DIM_REM, s, gather_number(g, m->times));", "gather_number(g, 0);"),
        ("autodiff/gather/gather_multiples.c", None, "gather_require(g, one, s, holds);", "(void)holds, (void)one;"),
        ("autodiff/gather/gather_multiples.c", None, "    require_most(g, all, safe);\n", ""),
        ("autodiff/gather/gather_multiples.c", None, "    require_most(g, gather_node(g, VY_DIM_MUL, extent, times), safe);\n", "    (void)safe;\n"),
        ("autodiff/gather/gather_multiple_forms.c", None, "m->rest[x] + c >= m->times", "m->rest[x] + c > m->times"),
        ("autodiff/gather/gather_multiples.c", None, "v = vy_add(b, v, vy_int(b, t, m->rest[id]));", ""),
        ("autodiff/gather/gather_multiple_forms.c", None, "m->kind[id] = remainder ? LEFT : DIVIDED;", "m->kind[id] = LEFT;"),
        ("autodiff/gather/gather_multiple_forms.c", None, "to <= m->times;", "to <= m->times + 1;"),
        ("autodiff/gather/gather_multiple_forms.c", None, "m->kind[id] = SCALED;", ""),
        ("autodiff/gather/gather_multiples.c", None, "any = m->assumed[r.scalar] = true;", "any = m->assumed[0] = true;"),
        ("autodiff/gather/gather_either.c", None, "g->multiples     ? g->multiples->before", "false     ? g->multiples->before"),
        ("autodiff/gather/gather_place.c", None, "op == VY_DIM_DIV || op == VY_DIM_REM", "false"),
    )),
    # Rows that loops take element by element.
    ("text/grad/gather/packed_rows.vyre", (
        ("autodiff/gather/gather_multiples.c", None, "m->whole[k] = vy_mul(m->w.b, part, times).id;", "m->whole[k] = part.id;"),
        ("autodiff/gather/gather_multiples.c", None, "v = r.rest ? vy_rem(b, k, times) :", "v = r.rest ? k :"),
        ("autodiff/gather/gather_multiples.c", None, "vy_add(b, v, vy_div(b, k, times))", "v"),
        ("autodiff/gather/gather_multiple_forms.c", None, "INT64_C(1) << c == times", "true"),
        ("autodiff/gather/gather_multiple_forms.c", None, "c == times - (op == VY_OP_AND)", "c == times"),
        ("autodiff/gather/gather_multiple_forms.c", None, "if (r.counter) m->kind[r.counter] = WHOLE;", ""),
    )),
    # Tiles of columns, as many as a quotient of what may be negative.
    ("text/grad/gather/tiled_rows.vyre", (
        ("autodiff/affine/affine.c", None, "if (n.range.hi > r.hi) n.range.hi = r.hi;", ""),
    )),
    # Rows as long as a quotient of scalars, and what versions know of their buffers.
    ("text/grad/gather/divided_rows.vyre", (
        ("autodiff/gather/gather_divided.c", None, "(factor[id] || g->owns)", "g->owns"),
        ("autodiff/gather/gather_calm.c", None, "    gather_see_divided_factors(g);\n", ""),
        ("autodiff/gather/gather_versions.c", None, "g->start_count = starts ? count : 0;", "g->start_count = 0;"),
        ("autodiff/gather/gather_begun.c", None, "g->r->buffers.data[start.origin].name;", "g->r->buffers.data[1].name;"),
    )),
    # Constant elements of shaders.
    ("text/grad/gather/cells.vyre", (
        ("autodiff/gather/gather_find.c", None, " && !gather_has_cells(g, i)) g->fixed[i] = 0;", ") g->fixed[i] = 0;"),
        ("autodiff/gather/gather_partial.c", None, "lanes ? GATHER_LANES : 1", "1"),
        ("autodiff/gather/gather_partial.c", None, "lanes ? w->lane : vy_zero(w->b, VY_U32)", "vy_zero(w->b, VY_U32)"),
        ("autodiff/gather/gather_partial.c", None, "if (n == GATHER_CELLS) return false;", "if (n == GATHER_CELLS) return true;"),
        ("autodiff/gather/gather_sums.c", None, "w->form == GATHER_TREE || (w->form == GATHER_TOTAL && !w->n)", "w->form == GATHER_TREE"),
        ("autodiff/gather/gather_sums.c", None, "if (all.id) vy_if(w->b, all);\n    return all.id != 0;", "return false;"),
        ("autodiff/gather/gather_forms.c", None, "        if (site->axes >> k & 1)\n            n -= n > 0 &&", "        if (site->axes >> k & 1)\n            n -= n > 0 ||"),
        ("autodiff/affine/scan_lanes.c", None, "count < MANY ? ROW : LONG_ROW", "ROW"),
        ("autodiff/gather/gather_cost.c", None, "spread || (g->r->shader && !depends_on(x, x->nest.count))", "spread"),
    )),
    # Rows of branches, and of clamped indices.
    ("text/grad/gather/branches.vyre", (
        ("autodiff/affine/flat_terms.c", None, "if (collect_choice(l, id, &t, depth)) return true;", ""),
        ("autodiff/gather/gather_sums.c", None, "return r && (r->partly ||", "return r && (false ||"),
        ("autodiff/affine/flat_terms.c", None, "(vy_flat_guard){condition, false};", "(vy_flat_guard){condition, true};"),
        ("autodiff/affine/flat_terms.c", None, "isl_pw_aff *zero = vy_isl_pw_aff_intersect_domain(vy_nest_number(n, 0), rest);",
         "isl_pw_aff *zero = vy_isl_pw_aff_intersect_domain(vy_nest_number(n, 1), rest);"),
        ("autodiff/affine/flat_terms.c", None, "    l->out->count = first;\n    return false;", "    return false;"),
        ("autodiff/affine/flat_terms.c", None, "        n->domain = isl_set_copy(where);", "        n->domain = isl_set_copy(where), k = t->guards;"),
        ("autodiff/affine/flat_terms.c", None, "-(int64_t)r->sign[k].least);", "0);"),
        ("autodiff/gather/gather_signs.c", None, "(int64_t)r->sign[k].least - 1", "(int64_t)-1"),
        ("autodiff/gather/gather_signs.c", None, "for (s->least[k] = ANY; s->least[k] < 1 && !suffices(s);) s->least[k]++;", "continue;"),
        ("autodiff/gather/gather_signs.c", None, "gather_number(g, least);", "gather_number(g, 0);"),
        ("autodiff/gather/gather_assume.c", None, "return vy_rows_signed(n->a, s->rows, vy_nest_reached(n));", "return vy_nest_reached(n);"),
        ("autodiff/affine/most.c", None, "const bool all = vy_isl_set_is_subset(reached, below) == isl_bool_true;", "const bool all = false;"),
    )),
    # Loops that may end before the number that is their dimension's end.
    ("text/grad/gather/early_loops.vyre", (
        ("autodiff/affine/iteration_domain.c", None, "            if (early) n->inexact[n->inexact_count++] = opener;\n", ""),
        ("autodiff/affine/iteration_domain.c", None, "return lower ? second : first || second;", "return first && second;"),
        ("autodiff/gather/gather_clone.c", None, "const bool guards = site->single || vy_nest_dim(n, up) >= 0;", "const bool guards = site->single;"),
        ("autodiff/gather/gather_clone.c", None, "vy_if(c->b, vy_lt(c->b, (vy_value){c->map[id]}, end));", "vy_if(c->b, vy_le(c->b, (vy_value){c->map[id]}, end));"),
    )),
    # Short local arrays whose index is no constant.
    ("text/grad/gather/short_arrays.vyre", (
        ("ir/pass/scalar/scalarise.c", None, "!element(z, id, &var) && !is_short(p, &p->buffers.data[i->aux]))", "!element(z, id, &var))"),
        ("ir/pass/scalar/scalarise.c", None, "(i->op == VY_OP_STORE && !one))", "false)"),
        ("ir/pass/scalar/scalarise.c", None, "vy_arg(p, load, 0) == vy_arg(p, store, 0);", "true;"),
        ("ir/pass/scalar/scalarise.c", None, "        if (own) return (int)k;", "        return (int)k;"),
        ("ir/pass/scalar/scalarise.c", None, "own = vy_op_infos[p->insts.data[id].op].effect == VY_PURE ||", "own = true ||"),
        ("ir/pass/scalar/scalarise.c", None, "args[own] = now;", "args[0] = now;"),
        ("ir/pass/scalar/scalarise.c", None, "is, stored(z, id, own, *now), (vy_value){*now})", "is, stored(z, id, own, *now), vy_zero(z->w.b, VY_I32))"),
        ("ir/pass/scalar/scalarise.c", None, "vy_eq(z->w.b, index, vy_int(z->w.b, t, k));\n        value", "vy_eq(z->w.b, index, vy_int(z->w.b, t, n - 1 - k));\n        value"),
        ("ir/pass/scalar/scalarise.c", None, "vy_value value = vy_zero(z->w.b, (vy_type)buf->type);", "vy_value value = {z->now[z->base[i->aux] - 1]};"),
    )),
    # Offsets whose sign only the launch knows, and the order of strides that are parts of one vector.
    ("text/grad/gather/stride_offsets.vyre", (
        ("autodiff/gather/gather_signs.c", None, "        if (gather_is_given(g, r->sign[k].condition)) continue;", "        continue;"),
        ("autodiff/gather/gather_signs.c", None, "(int64_t)r->sign[k].least - 1", "(int64_t)r->sign[k].least"),
        ("autodiff/gather/gather_signs.c", None, "    s.bad = vy_rows_signed(n->a, r, s.bad);\n", ""),
        ("autodiff/gather/gather_signs.c", None, "all = all.id ? gather_node(g, VY_DIM_MIN, all, holds) : holds;", "all = holds;"),
        ("autodiff/gather/gather_assume.c", None, "    if (signs.id) r->holds =", "    if (false) r->holds ="),
        ("autodiff/gather/gather_assume.c", None, "    s->open |= signs.id != 0;\n", ""),
        ("autodiff/gather/gather_either.c", None, "r->sign[k].natural.least, r->sign[k].natural.most", "r->sign[k].natural.most, r->sign[k].natural.most"),
        ("autodiff/gather/gather_strides.c", None, "if (!are_parts(g->r, a, b)) return a < b;", "return a < b;"),
        ("autodiff/gather/gather_strides.c", None, "if (!are_parts(g->r, a, b)) return a < b;", ""),
        ("autodiff/gather/gather_strides.c", None, "? u > v : a < b;", "? u < v : a < b;"),
    )),
    # Tapes over a negative extent, which are checked no more than others.
    ("text/grad/storage/negative_domain.vyre", (
        ("ir/build/declare.c", None, "if (is_natural(b->p, d.id, DEPTH)) return d;", "return d;"),
        ("autodiff/storage/tape.c", None, "vy_dim_natural(r->b, r->build.dims[r->p->overs.data[k].extent.id])", "r->build.dims[r->p->overs.data[k].extent.id]"),
        ("ir/facts/range.c", None, "if (!d || d->op != VY_DIM_MAX) return false;", "return false;"),
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
        ("autodiff/gather/gather_sums.c", None, "return r && (r->partly || !gather_is_open(w->g->r, length_of(w, site).id));", "return false;"),
        ("autodiff/gather/gather_sums.c", None, "return w->g->r->buffers.data[site->access.buffer].dims[0];", "return site->access.dim[0];"),
    )),
    # What the text of a lowered program means to differentiation.
    ("text/grad/rewrite/lowered.vyre", (
        ("autodiff/rewrite/raise_lowered.c", None, "vy_new_arg(w, id, 1)});", "value});"),
        ("autodiff/rewrite/raise_lowered.c", None, "const bool derives = i->op == VY_OP_DERIVE_AS;", "const bool derives = false;"),
        ("autodiff/driver/jvp.c", None, "vy_raise_lowered(p) &&", ""),
    )),
    # What buffers begin as copies of.
    # What order 1 gathered or stored, at order 2.
    ("text/grad/order/flat.vyre", (
        ("autodiff/affine/flat.c", None, "if (by_index(l) || by_assumption(l, true)) return true;", "if (by_index(l)) return true;"),
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

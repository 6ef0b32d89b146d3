# SPDX-License-Identifier: MIT
"""Faults in pipelines and in their derivatives."""
GROUPS = (  # the test that notices, and what is changed, what is compiled, old, new
    # Derivatives of derivatives: stages that begin as a copy of a slice, extents that nothing decides any more.
    ("text/grad/pipeline/init_slice_again.vyre", (
        ("autodiff/stages/stages.c", None, "if (!from || is_entire(c, from, made))", "if (true)"),
        ("autodiff/stages/stages.c", None, "    else\n        vy_pipe_move(c->q, from->flat", "    else if (false)\n        vy_pipe_move(c->q, from->flat"),
    )),
    ("text/grad/pipeline/counted_again.vyre", (
        ("ir/host/lower_call.c", None, "if (!dims[k].id) dims[k] = extent_of_scalars(w, a, b->dims[k]);", ""),
    )),
    # The control flow of pipelines: what runs ahead, how often, and what a condition is.
    ("pipelines_derive.py", (
        ("ir/host/run_ahead.c", None, "if (is_changed(flags[f->buffers[i]])) begin_trial(w, f->buffers[i]);", ";"),
        ("ir/host/run_ahead.c", None, "return mark(c, s, true, flags, NEEDED) || touched;", "return touched;"),
        ("ir/host/run_ahead.c", None, "vy_pipe_move(w->c.q, VY_PIPE_COUNT, NULL,", "(void)vy_pipe_move; (void)("),
        ("ir/host/run_ahead.c", None, "raise_most(w, opener, counting_value(w, count));", ";"),
        ("ir/host/count_whiles.c", None, "if (s->test) walk(w, s->test + 1, s->partner);", ""),
        ("ir/host/lower_number.c", None, "return zero && !zero->u ? lower_number", "return zero ? vy_dim_const(w->b, 0) : zero ? lower_number"),
        ("ir/host/lower.c", None, "if (!lower_stopped(w)) vy_pipe_assign(w->q, VY_PIPE_SET, &to, n);", ""),
    )),
    # Which states are their own tape, and in what is not cleared.
    ("pipelines_derive.py", (
        ("ir/host/fuse_stages.c", None, "vy_fuse_is_own(q->a, u) &&", ""),
        ("ir/host/fuse_stages.c", None, "vy_fuse_is_own(q->b, v);", "true;"),
        ("ir/host/fuse_stages.c", None, "return by ? (a.offset - b.offset) % by != 0 :", "return by ? true :"),
        ("ir/host/fuse_stages.c", None, "(b->cls != VY_OUT || vy_fuse_overwrites(q->b, v))", "true"),
        ("ir/host/fuse_stages.c", None, "w->uses[id] == 2 &&", ""),
        ("ir/host/fuse_stages.c", None, "if (!is_same_domain(q)) return false;", ""),
        ("ir/host/fuse_access.c", None, "return i->op == VY_OP_STORE && !depth;", "return i->op == VY_OP_STORE;"),
        ("autodiff/gather/gather_programs.c", None, "if (g->r->buffers.data[buffer].cls == VY_INOUT) return true;", ""),
        ("ir/host/states.c", None, "(at > offset || (at == offset", "(at > -99 || (at == offset"),
        ("ir/host/states.c", None, "index[0] = vy_dim_binary(b, VY_DIM_ADD, index[0], vy_dim_const(b, s->offset));", ";"),
    )),
    ("text/pipeline/read_ahead.vyre", (("ir/build/pipe_uses.c", None, "return at < u->count;", "return true;"),)),
    ("text/pipeline/begin_order.test", (
        ("ir/build/pipe_drop.c", None, "if (ok && next == count) {", "if (0) {"),
        ("ir/build/pipe_drop.c", None, "for (uint32_t i = 0; ok && i < l->steps.count; i++) {", "for (uint32_t i = l->steps.count; ok && i-- > 0;) {"),
    )),
    # … that random pipelines seldom meet.
    ("text/grad/pipeline/bools.vyre", (
        ("autodiff/storage/tape_access.c", None, "if (type == VY_BOOL && r->p->host && vy_tensor_rank(r, id)) return VY_BOOL;", ""),
    )),
    ("text/grad/pipeline/states.vyre", (
        ("ir/host/states.c", None, "repeat, e, &at) && at >= 0 && at < r->ahead;", "repeat, e, &at);"),
        ("ir/host/states.c", None, "return at < r->ahead || (at == r->ahead && u->step >= r->write);", "return true;"),
    )),
    # What the steps of a condition leave behind.
    ("text/grad/pipeline/while_end.vyre", (
        ("ir/host/lower_places.c", None, "return id < w->s.test[up] && w->s.test[up] < next;", "return false;"),
    )),
    # How often loops run, where that is found ahead.
    ("text/grad/pipeline/counted.vyre", (
        ("autodiff/storage/plan.c", None, "is_count(g, id) || !vy_can_repeat(", "!vy_can_repeat("),
        ("autodiff/storage/plan.c", None, "is_count(g, id) ? 1 : g->keeper + 1", "g->keeper + 1"),
        ("ir/host/count_whiles.c", None, "shifted ? vy_dim_binary(b, VY_DIM_ADD, from, counter) : counter;", "counter;"),
        ("ir/host/count_whiles.c", None, "if (w->bound[at].id) times = vy_dim_binary(b, VY_DIM_MIN, times, w->bound[at]);", ""),
        ("ir/host/run_ahead.c", None, "from_constant ? to : vy_dim_binary(b, VY_DIM_SUB, to, from)", "to"),
        ("ir/host/run_ahead.c", None, "return vy_dim_binary(b, VY_DIM_MAX, end, vy_dim_const(b, 0));", "return end;"),
        ("ir/build/live_mark.c", None, "if (key_of(p, id) >= 0) m->extent[key_of(p, id)] = id;", "if (key_of(p, id) >= 0 && !m->extent[key_of(p, id)]) m->extent[key_of(p, id)] = id;"),
    )),
    # What is kept of intermediates whose sizes iterations decide.
    ("text/grad/pipeline/own_sizes.vyre", (
        ("ir/host/lower_call.c", None, "if (shape.dims[k].id && same_extent(a->callee, b->dims[k], dim))", "if (false)"),
        ("autodiff/storage/tape_tensor.c", None, "facts.buffers[r->p->insts.data[zero].aux].home : UINT32_MAX;", "facts.buffers[r->p->insts.data[zero].aux].home + 1 : UINT32_MAX;"),
        ("autodiff/storage/tape_tensor.c", None, "if (r->plan.kept[id] == r->build.replaying + 1) begin_tape(r, id);", "begin_tape(r, id);"),
        ("autodiff/storage/tape_tensor.c", None, "home == keeper || vy_encloses(&r->facts, home, keeper)", "home == keeper"),
        ("autodiff/storage/tape_tensor.c", None, "begins ? vy_dim_binary(r->b, VY_DIM_MAX, counts[k], vy_dim_const(r->b, 0)) : counts[k];", "counts[k];"),
        ("autodiff/storage/tape.c", None, "= begins ? VY_LOCAL : VY_INOUT;", "= VY_INOUT;"),
        ("autodiff/storage/tape_tensor.c", None, "while (r->facts.scope[at] != keeper) at = r->facts.scope[at];", "at = r->facts.scope[at];"),
        ("autodiff/storage/plan.c", None, "&& vy_cut_is_used(&g->cut, node);", ";"),
        ("autodiff/storage/plan.c", None, "(r->p->host && !vy_tape_fits(r, id, g->keeper));", "false;"),
        ("ir/host/raise.c", None, "if (block && begins_open(r, s))", "if (0)"),
        ("autodiff/driver/derive_pipeline.c", None, "return order > 1 && t->options->checkpoint &&", "return order > 9 && t->options->checkpoint &&"),
    )),
    ("text/grad/pipeline/own_sizes_again.vyre", (
        ("ir/host/lower.c", None, "lower_forget_extents(w, w->s.partner[end]);", ""),
        ("ir/host/lower_extents.c", None, "for (; w->known && w->known->block == block;", "for (; w->known;"),
        ("ir/host/lower_call.c", None, "lower_know_results(w, id);", ""),
        ("ir/host/raise.c", None, "args[call->extents++] = raise_number(r, own);", "(void)own;"),
        ("ir/host/raise.c", None, "rest += raise_numbers(r, 3, s->groups, rest);", "raise_numbers(r, 3, s->groups, rest);"),
    )),
    ("text/grad/pipeline/kept_sums.vyre", (
        ("ir/host/lower_places.c", None, "if (!lower_is_tensor(w, v)) return 0;", "if (VY_IS_LEAF(v)) return 0;"),
    )),
    ("text/grad/pipeline/unused_scalar.vyre", (
        ("ir/host/raise.c", None, "with_scalar_leaves(vy_rebuild_begin(p))", "vy_rebuild_begin(p)"),
    )),
    ("text/grad/pipeline/init_integers.vyre", (
        ("ir/host/lower.c", None, "if (c && (is_float || whole)) {", "if (c && is_float) {"),
        ("ir/host/lower.c", None, "is_float ? c->f : (double)c->i", "c->f"),
        ("ir/host/raise.c", None, "vy_type_is_float(b.type) ? vy_float(r->b, b.type, 1) : vy_int(r->b, b.type, 1)", "vy_float(r->b, b.type, 1)"),
    )),
    ("text/grad/pipeline/segments_again.vyre", (
        ("ir/host/lower.c", None, "w->current[buffer] = buffer; // a loop", "// a loop"),
    )),
    # What a derivative with the schedule of revolve is differentiated as.
    ("text/grad/pipeline/revolve_again.vyre", (
        ("autodiff/driver/derive_pipeline.c", None, "*body = vy_derived_as(source);", "*body = source;"),
        ("autodiff/driver/derive_as.c", None, "if (q ? vy_same_program(p, q) : !vy_module_find_pipeline(out, p->name)) continue;", "continue;"),
    )),
    # Which loads give one value.
    ("text/grad/pipeline/equal_loads.vyre", (
        ("autodiff/facts/equal_loads.c", None, "if (vy_host_other_slice(f->p, r->loads[k], id)) r->loads", "r->loads"),
        ("autodiff/facts/equal_loads.c", None, "if (vy_is_marker((vy_op)i->op)) marker = id;", ""),
        ("autodiff/reverse/replay.c", None, "} else if (same) {", "} else if (false) {"),
    )),
    # What is logged and put back, and for which buffers.
    ("text/grad/pipeline/undo.vyre", (
        ("autodiff/reverse/undo_form.c", None, "f->site[store] - 1).id", "0).id"),
        ("autodiff/reverse/undo_form.c", None, "i->aux != to)\n            return false;", "i->aux != to)\n            return true;"),
        ("autodiff/reverse/undo_find.c", None, "if (!c->loaded && !f->r->facts.s.parent[id]) return true;", "if (!f->r->facts.s.parent[id]) return true;"),
        ("autodiff/reverse/undo_find.c", None, "const bool given = !buf->workspace && r->options->with_value;", "const bool given = false;"),
        ("autodiff/reverse/undo_events.c", None, "if (!store || store > end) return end;", "return end;"),
        ("autodiff/reverse/undo_sweep.c", None, "load_slice(r, id), r->build.map[id])", "load_slice(r, id), load_slice(r, id))"),
        ("autodiff/reverse/undo_worth.c", None, "of->logs < of->saved && of->read)", "of->read)"),
        ("autodiff/reverse/undo_worth.c", None, " && of->read)) continue;", ")) continue;"),
        ("autodiff/storage/undo_shape.c", None, "if (extent.id) return extent;", "if (extent.id && false) return extent;"),
        ("autodiff/reverse/undo_pinned.c", None, "kind == VY_LEAF_CONST ||", "kind == VY_LEAF_CONST || kind == VY_LEAF_OVER ||"),
        ("autodiff/reverse/undo_pinned.c", None, "op != VY_OP_EQ) return", "op != VY_OP_LT) return"),
        ("autodiff/reverse/undo_form.c", None, "for (uint32_t id = 1; f->pinned[k]", "for (uint32_t id = p->insts.count / 2; f->pinned[k]"),
    )),
    ("text/grad/pipeline/revolve_nested.vyre", (
        ("ir/host/revolve.c", None, "if (!on.id) return x;", "return x;"),
        ("ir/host/revolve.c", None, "const vy_buf b = r->x.l->signature->buffers.data[buffer];\n        vy_dim dims", "const vy_buf b = r->b->p->buffers.data[buffer];\n        vy_dim dims"),
        ("ir/host/revolve_match.c", None, "x->replays = only_replays(x);", ""),
        ("ir/host/revolve_request.c", None, "if (report) report(user, s->line, why ? why :", "if (false) report(user, s->line, why ? why :"),
        ("ir/host/raise_states.c", None, "g->again = each && is_in_repeat(r, at);", ""),
    )),
    # What the schedule of `checkpoint(revolve, k)` takes from values.
    ("text/grad/pipeline/revolve_counts.vyre", (
        ("ir/host/revolve_steps.c", None, "case VY_PIPE_TEST: vy_pipeline_test(r->q, revolve_dim(r, s->from)); break;", ""),
        ("ir/host/revolve_match.c", None, "d->value >= (int64_t)x->forward", "d->value > (int64_t)x->forward"),
        ("ir/host/revolve_match.c", None, "last->value == all->value - 1", "last->value == all->value"),
        ("ir/host/revolve_steps.c", None, "same &= !r->x.varies", "same |= !r->x.varies"),
        ("ir/host/revolve_steps.c", None, "if (now.index) revolve_set_step(r, at, vy_pipeline_value", "if (now.index) (void)(vy_pipeline_value"),
    )),
    ("text/grad/pipeline/ends_alike.vyre", (
        ("ir/host/raise_states.c", None, "if (!r->hints.data[id]) r->hints", "r->hints"),
    )),
    ("text/grad/pipeline/fused.vyre", (
        ("ir/host/fuse_stages.c", None, "vy_fuse_covers(q->a, u) &&", ""),
        ("ir/host/fuse_stages.c", None, "vy_type_loaded(b->type) == b->type &&", ""),
    )),
    ("text/grad/pipeline/rotation.vyre", (
        ("autodiff/facts/rotation.c", None, "at.offset < r->last.offset || (at.offset == r->last.offset", "(at.offset == r->last.offset"),
        ("autodiff/facts/rotation.c", None, "(at.offset == r->last.offset && id > r->load))", "false)"),
        ("autodiff/facts/rotation.c", None, "if (r->load && at.offset > r->last.offset) return;", ""),
        ("autodiff/facts/rotation.c", None, "return offset >= r->last.offset &&", "return"),
        ("autodiff/facts/rotation.c", None, "r->first_only |= !is_start(f, r, id);", ";"),
        ("autodiff/facts/rotation.c", None, "if (!r->store || r->last.offset) r->first_only = true;", "if (!r->store) r->first_only = true;"),
        ("autodiff/facts/rotation.c", None, "return is_own_operand(p, r->load, d) &&", "return"),
        ("ir/build/pipe_drop.c", None, "ok = renumber_step(l->module, &l->steps.data[i], to);\n    }", "ok = true;\n    }"),
        ("autodiff/facts/rotation.c", None, "!vy_host_other_slice(p, a, load))", "false)"),
        ("autodiff/facts/rotation.c", None, "if (call->pipeline || vy_program_has_rule(", "if (false && vy_program_has_rule("),
        ("autodiff/reverse/dispatch_modes.c", None, "!load || !is_apart(d, i, load)) continue;", "!load) continue;"),
    )),
    # What is passed as flat(…), and in what begins as a copy.
    ("pipelines_derive.py", (
        ("ir/build/pipe_flat.c", None, "if (r->gives) move(c, copy,", "if (0) move(c, copy,"),
        ("ir/build/pipe_flat.c", None, "if (r->takes) move(c, &r->place,", "if (0) move(c, &r->place,"),
        ("ir/build/pipe_flat.c", None, "shape[k] = inline_dim(&of, parameter->dims[k]);",
         "shape[k] = inline_dim(&of, parameter->dims[parameter->rank - 1 - k]);"),
        ("ir/build/pipe_kernels.c", None, "body(b, k, x, y, flattens ? &flat : index, shapes ? &flat : index);",
         "body(b, k, x, y, flattens ? &flat : index, shapes ? &index[k->rank - 1] : index);"),
        ("ir/host/flatten.c", None, "if (copies[n].shape) inline_reshape_back(", "if (0) inline_reshape_back("),
        ("autodiff/reverse/prune.c", None, "if (map[i] && b->init == VY_INIT_COPY) map[", "if (0) map["),
    )),
    # What conditions, variables and reversed counters are.
    ("host_control.py", (
        ("ir/build/dim_condition.c", None, "vy_dim_binary(b, VY_DIM_SUB, y, x));", "vy_dim_binary(b, VY_DIM_SUB, x, y));"),
        ("ir/build/dim_condition.c", None, "vy_dim_binary(b, VY_DIM_MAX, up, down)", "up"),
        ("ir/text/condition.c", None, "e->op == TK_ANDAND ? VY_DIM_MIN : VY_DIM_MAX", "VY_DIM_MIN"),
        ("ir/text/condition.c", None, "case TK_GE: return vy_le(b, y, x);", "case TK_GE: return vy_lt(b, y, x);"),
        ("ir/text/condition.c", None, "return values[v->next++];", "return values[0];"),
        ("ir/text/lower_pipe.c", None, "lower_arm(l, s->other, vy_dim_not(l->b, c),", "lower_arm(l, s->other, c,"),
        ("ir/build/pipe_condition.c", None, ".dim = x->index[i]};", ".dim = vy_dim_const(q->b, 0)};"),
        ("ir/text/parse_pipe.c", None, "return has ? ops[assignment - TK_SET_ADD] : TK_END;", "return has ? TK_ADD : TK_END;"),
        ("ir/eval/eval_pipeline.c", None, "r->depth--;\n    return r->pipeline", "return r->pipeline"),
    )),
    # Values kept in place of states.
    ("text/grad/pipeline/keep.vyre", (
        ("autodiff/driver/keep_values.c", None, "operand_of(x->w.p, id, callee, b->role.parameter);", "operand_of(x->w.p, id, callee, 1);"),
        ("autodiff/driver/keep_values.c", None, "any |= counts(r->p, vy_arg(r->p, operand, k), 0);", ";"),
        ("autodiff/driver/keep_values.c", None, "f->known = false;\n            any = true;", "f->known = false;"),
        ("autodiff/driver/keep_form.c", None, "price_of_keeping(x) + least < price_of(x->stage)", "1 < price_of(x->stage)"),
        ("autodiff/driver/drop_unread.c", None, "keep[0] = 0;", ";"),
        ("autodiff/reverse/sweep_dispatch.c", None, "uint32_t pick = d->keeper + 1;", "uint32_t pick = d->keeper + 2;"),
        ("autodiff/reverse/keep_programs.c", None, "vy_rewrite_as(&x->w, id, x->load[k]);", "vy_rewrite_as(&x->w, id, x->load[0]);"),
    )),
    # What is kept within --tape-limit.
    ("text/grad/pipeline/limit.vyre", (
        ("session/keep_less.c", None, "|| bytes < w->least_bytes) w->least", "|| true) w->least"),
    )),
    ("text/grad/pipeline/condition_again.vyre", (
        ("ir/host/count_whiles.c", None, "w->count[at] = (vy_buffer){0}; // steps", "// steps"),
    )),
)

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Does the fuzzer notice wrong rules?  Plants them one by one and prints how many programs it took.

  plant.py --build DIR [--count N] [--seed S]

Each is a copy of one source file with a small change, linked ahead of DIR's libraries into a
gradcheck_file, a vyre-grad or a unit test of its own.  Exit 1 if one goes unnoticed or its text is
no longer found.
"""
import argparse
import glob
import os
import shlex
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True
import directed  # noqa: E402
import generate  # noqa: E402
import oracle  # noqa: E402
import rounds  # noqa: E402
import several  # noqa: E402
import strides  # noqa: E402

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
    ("autodiff/storage/tape.c", None, "if (r->build.untested && r->facts.home[id] == r->build.untested) return;", ""),
    ("autodiff/storage/tape.c", None, "vy_add(r->b, (vy_value){built(r, c)->base}, (vy_value){r->build.map[c->at]}).id",
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
    ("ir/pass/scalar/mark_in_range.c", None, "if ((!all && !proved[id]) ||", "if ("),
    ("ir/text/print_expr.c", None, "if (!(o->p->insts.data[id].flags & mark)) continue;",
     "if (!(o->p->insts.data[id].flags & mark) || mark == VY_FLAG_OWNED) continue;"),
    ("ir/text/lower_element.c", None, "vy_emit_flags(l->b, id, w->at->flags);", ""),
    ("ir/text/lower_call.c", None, "vy_emit_flags(l->b, v.id, target->kind == EX_INDEX ? target->op : 0);", ""),
    # facts that spread: a visited node is never revisited; a value's first user is not notified
    ("ir/core/dataflow.h", "autodiff/facts/activity.c", "d->waits[id] = 0;", ""),
    ("ir/core/dataflow.c", None, "for (uint32_t k = d->first_user[id]; k <", "for (uint32_t k = d->first_user[id] + 1; k <"),
    # where constructs keep their operands, and a loop that is rebuilt
    ("ir/core/flow.h", "autodiff/reverse/sweep_loop.c", "vy_init_arg(p, loop) + k);", "vy_init_arg(p, loop) + k - !!k);"),
    ("ir/core/flow.h", "autodiff/reverse/sweep_loop.c", "vy_next_arg(p, loop) + k);", "vy_next_arg(p, loop) + k - !!k);"),
    ("ir/build/rewrite.c", None, "vy_rewrite_as(w, marker + 1 + k, values[k]);", "vy_rewrite_as(w, marker + 1 + k, values[k - !!k]);"),
)

# Faults for which one unit test has the best programs: that test is built with the fault in it.
UNITS = {
    "test_spirv": (
        ("spirv/emit/arrays.c", None, "&m->block_types[written][", "&m->block_types[0]["),
    ),
    "test_opt": (
        ("ir/pass/sums/workgroup_sum.c", None, "    vy_barrier(b);\n    vy_begin_if", "    vy_begin_if"),
        ("ir/pass/sums/subgroup_reduce.c", None, "all && !r->w.s.parent[r->out[site]] &&", "all &&"),
        ("ir/pass/target/workgroup_shape.c", None, "p->has_workgroup || !o->workgroup ||", "!o->workgroup ||"),
        ("ir/pass/target/workgroup_shape.c", None, "vy_sees_workgroup(p) || !is_large", "!is_large"),
        ("ir/pass/target/workgroup_shape.c", None, "return n >= (double)", "return n > (double)"),
    ),
    "test_device_code": (
        ("ir/pass/sums/workgroup_sum.c", None, "vy_emit(b, VY_OP_ZERO, VY_VOID, part.id, 0, NULL);", ";"),
        ("ir/pass/sums/workgroup_sum.c", None, "vy_begin_if(b, leader.id);", "vy_begin_if(b, vy_bool(b, true).id);"),
    ),
    "test_access": (
        ("autodiff/affine/flat.c", None, "!in_range(l, 1) || !never_wraps(l)", "!in_range(l, 1)"),
        ("autodiff/affine/flat.c", None, "if (vy_type_size(b->type) < 4) return false;", ""),
    ),
    "test_shapes": (
        ("autodiff/shapes/prove.c", None, "ok = v && inside(n, v, extent_on(n, b->extent[axis - 1]));", "ok = v != NULL;"),
        ("autodiff/shapes/prove.c", None, "const bool ok = v && inside(n, v, end);", "const bool ok = v != NULL;"),
        ("autodiff/shapes/prove.c", None, "if (extent) good = isl_set_intersect(", "if (0) good = isl_set_intersect("),
        ("autodiff/affine/most.c", None, "    constant += 1;\n", "    constant += 0;\n"),
        ("autodiff/shapes/prove.c", None, "t->minus ? -t->constant : t->constant));", "t->constant));"),
        ("autodiff/shapes/prove.c", None, "if (b->is && !b->one && !prove_access(", "if (b->is && !b->one && i % 2 == 0 && !prove_access("),
        ("autodiff/shapes/recover.c", None, "sum = term->minus ? vy_sub(b, sum, v) : vy_add(b, sum, v);", "sum = vy_add(b, sum, v);"),
        ("autodiff/shapes/strides.c", None, "if (l && l->kind == VY_LEAF_LEN) s->buffers[l->index].is = false;", ""),
        ("autodiff/shapes/strides.c", None, "if (j == t->count) return -1;", ""),
        ("autodiff/affine/flat_terms.c", None, "second.minus ^= op == VY_OP_SUB;", ""),
    ),
    "test_low_bits": (
        ("ir/facts/low_bits.c", None, "if (!y.bits) return keep(0, 0);", ""),
        ("ir/facts/low_bits.c", None, "least(x.count + zeros(y), y.count + zeros(x))", "least(x.count + zeros(y), y.count + 1)"),
        ("ir/facts/low_bits.c", None, "(longer.bits >> n & 1) == either) n++;", "true) n++;"),
        ("ir/facts/low_bits.c", None, "if ((UINT64_C(1) << least(y.count, 63)) <= most) return keep(0, 0);", ""),
    ),
    "test_pipeline_run": (
        ("vkrt/barrier.c", None, "!(writes && contains_any(plan, &b->read, range)))", "true)"),
        ("vkrt/barrier.c", None, "if (r.offset < end_of(s->at[i]) && s->at[i].offset < end_of(r)) return true;", "return true;"),
        ("vkrt/barrier.c", None, "if (r.offset < end_of(s->at[i]) && s->at[i].offset < end_of(r)) return true;",
         "if (r.offset == s->at[i].offset) return true;"),
        ("vkrt/barrier.c", None, "if (s->count == VKRT_SPANS) r = hull(r, s->at[--s->count]);",
         "if (s->count == VKRT_SPANS) s->count--;"),
        ("vkrt/barrier.c", None, "            r = hull(r, old);\n", "            r = old;\n"),
    ),
    "test_stages": (
        ("autodiff/gather/gather_make.c", None, "p->buffers.data[k].owned = false;", ";"),
    ),
    "test_ir": (
        ("ir/core/names.c", None, "strcmp(name_at(p, table, n->slots[slot] - 1), name) != 0",
         "hash_of(name_at(p, table, n->slots[slot] - 1)) != hash_of(name)"),
    ),
    "test_grad_request": (
        ("autodiff/reverse/declare.c", None, ".root = was->root ? was->root : buf->name,", ".root = buf->name,"),
        ("ir/build/declare.c", None, ".of = role->of ? keep_name(b, role->of) : NULL,",
         ".of = role->of ? keep_name(b, role->root) : NULL,"),
        ("autodiff/rewrite/ends.c", None, "if (passes(e, id, k)) reach(e, vy_arg(e->p, id, k));",
         "reach(e, vy_arg(e->p, id, k));"),
        ("autodiff/rewrite/ends.c", None, "for (uint32_t k = 0; k < n; k++) reach(e, sources[k]);",
         "for (uint32_t k = 0; k < n / 2; k++) reach(e, sources[k]);"),
    ),
    "test_forward": (
        ("autodiff/forward/forward_memory.c", None, "case VY_OP_ZERO: emit_twin(f, id, VY_OP_ZERO, VY_VOID, 0, 0); return;",
         "case VY_OP_ZERO: return;"),
        ("autodiff/forward/forward_memory.c", None, "emit_twin(f, id, VY_OP_STORE, VY_VOID, 1, vy_forward_tangent(f, value));",
         "if (vy_forward_dot(f, value)) emit_twin(f, id, VY_OP_STORE, VY_VOID, 1, vy_forward_dot(f, value));"),
        ("autodiff/forward/forward.c", None, ": vy_rule_guarded(f->w.b, r->g, r->out[k]);", ": r->out[k];"),
        ("autodiff/core/rules.c", None, "vy_and(b, unused, nan)", "unused"),
        ("autodiff/core/rules.c", None, "#define DIV(x, y) 1", "#define DIV(x, y) 0"),
        ("autodiff/forward/forward_extremum.c", None, "won = vy_and(x->w.b, won, vy_eq(",
         "won = vy_or(x->w.b, won, vy_eq("),
        ("autodiff/forward/forward.c", None, "(vy_value){others}).id;", "(vy_value){vy_new_arg(&f->w, id, 0)}).id;"),
        ("autodiff/driver/jvp.c", None, "vy_rewrite_active(r, p, source, vy_extremum_shared) &&", ""),
        ("autodiff/forward/unreached.c", None, "return p->buffers.data[i->aux].cls != VY_IN;", "return false;"),
        ("autodiff/forward/unreached.c", None, "!is_unreached(f, a) && !vy_rule_drops(f->w.p, id, k))", "!is_unreached(f, a))"),
    ),
    "test_grad_pipeline": (
        ("autodiff/reverse/sweep_dispatch.c", None, "if (p->add == ADD_TO_SLICE) add[", "if (p->add == SET_SLICE) add["),
        ("autodiff/reverse/sweep_dispatch.c", None, "if (!vy_host_other_slice(d->r->p, other, load)) return false;", ""),
        ("autodiff/reverse/sweep_dispatch.c", None, "if ((cls != VY_IN && cls != VY_LOCAL) || f->sites != 1 || f->kept) return false;",
         ""),
        ("autodiff/reverse/sweep_dispatch.c", None, "if (!found) return false;", ""),
        ("autodiff/reverse/sweep_memory.c", None, "if (k == added) return false;", ""),
        ("autodiff/reverse/sweep_dispatch.c", None, "if (active_scalar(d, k)) wrt[", "if (false) wrt["),
        ("autodiff/reverse/sweep_dispatch.c", None, "VY_OP_ATOMIC_ADD, VY_STRENGTH_PLAIN, r->build.leaf_grad", "VY_OP_STORE, VY_STRENGTH_NONE, r->build.leaf_grad"),
        ("autodiff/forward/forward_dispatch.c", None, "if (scalar_dot(d, k)) names[", "if (false) names["),
        ("autodiff/reverse/sweep_dispatch.c", None, "request.structural_zeros |= !is_given(d->r, p->adjoint);", ""),
        ("autodiff/reverse/sweep_dispatch.c", None, "return is_read(d, buffer) ?", "return false ?"),
        ("ir/host/reads.c", None, "if (s->args[n++].buffer.id == buffer && program_reads(p, i)) return true;",
         "n++;"),
        ("ir/host/lower_places.c", None, "w->copied[id] = c->all[k].id;", ""),
        ("ir/host/lower_places.c", None, "if (!vy_host_other_slice(h, c->all[k].id, store)) return false;", ""),
        ("ir/host/lower_places.c", None, "if (vy_host_other_slice(h, next, id)) continue;", "return true;"),
        ("ir/host/lower_places.c", None, "if (w->s.parent[id] != home) return false;", ""),
        ("ir/host/lower_call.c", None, "!lower_same_place(&from, &to) && !is_there(w, v, pick))", "false)"),
        ("ir/host/lower_call.c", None, "!is_there(w, v, pick))", "!w->copied[v])"),
        ("ir/host/lower_call.c", None, "if (!lower_same_place(&old, &to) && !is_there(w, x, id)) lower_copy(",
         "if (false) lower_copy("),
        ("ir/host/slices.c", None, "return a != b;", "return true;"),
        ("ir/host/slices.c", None, "&&\n           (a - b) % m != 0;", ";"),
        ("ir/host/raise.c", None, "vy_emit(r->b, VY_OP_ZERO, VY_VOID, buffer, n, extents);",
         "vy_emit(r->b, VY_OP_ZERO, VY_VOID, buffer, 0, extents);"),
        ("ir/host/raise.c", None, "clear(r, s->buffer.id);", ""),
        ("ir/host/lower.c", None, "{w->current[i->aux]};", "{i->aux};"),
        ("ir/host/lower.c", None, "VY_DIM_SUB, both, t);", "VY_DIM_SUB, to, t);"),
        ("ir/host/lower.c", None, "if (b->init == VY_INIT_ONES) lower_fill(w, &to, 1);", ""),
        ("ir/host/shapes.c", None, "b->rank - i->nargs, b->dims + i->nargs};", "b->rank - i->nargs, b->dims};"),
        ("autodiff/forward/forward_dispatch.c", None, "if (!vy_is_tangent(d->made->roles[buffer].kind)) {",
         "if (vy_is_tangent(d->made->roles[buffer].kind)) {"),
        ("autodiff/forward/forward_dispatch.c", None, "return dot ? dot : vy_zero(", "return vy_zero("),
        ("autodiff/forward/forward_dispatch.c", None, ".structural_zeros = true,", ""),
        ("autodiff/reverse/params.c", None, "if (r->p->host) return is_stored_once(r, buffer);",
         "if (r->p->host) return true;"),
    ),
    "test_custom": (
        ("autodiff/core/custom.c", None, "product(c->b, t, cotangents[o], tangents[o])", "tangents[o]"),
        ("autodiff/core/custom.c", None, "unit[k] = 0;", ""),
        ("autodiff/core/custom.c", None, "c->room[n++] = dots[k] ?", "c->room[n++] = dots[0] ?"),
        ("autodiff/facts/activity.c", None, "case VY_OP_APPLY:\n", "case VY_OP_APPLY: return false;\n"),
        ("autodiff/driver/program_rule.c", None, "input ? o->wrt : o->of,", "input ? o->of : o->wrt,"),
        ("autodiff/driver/program_rule.c", None, "VY_IS_TANGENT_OUT : VY_IS_GRADIENT;", "VY_IS_GRADIENT : VY_IS_TANGENT_OUT;"),
        ("autodiff/driver/program_rule.c", None, "if (!p->rules[wanted]) t.kind =", "t.kind ="),
        ("autodiff/reverse/sweep_dispatch.c", None, "case VY_IS_TANGENT: return vy_zero(", "case VY_IS_TANGENT: return false && vy_zero("),
    ),
    "test_custom_calls": (
        ("autodiff/core/custom.c", None, "cotangents[o] ? cotangents[o]", "cotangents[0] ? cotangents[0]"),
        ("autodiff/core/custom.c", None, "gives_float(c, o) ? results[at++] : 0;", "results[0];"),
        ("autodiff/core/custom.c", None, "unit[o] = vy_float(", "unit[0] = vy_float("),
        ("ir/build/build.c", None, "return args[0] + 1 + aux;", "return args[0] + 1;"),
        ("ir/build/inline.c", None, "= call_at(c->w.b, i->aux, args, results, c->mode, 0);",
         "= call_at(c->w.b, i->aux, args, results, c->mode, 0); results[count - 1] = results[0];"),
    ),
    "test_pipeline": (
        ("ir/build/pipe_stand_in.c", None, "if (!vy_pipe_order_buffers(made)) return", "if (0) return"),
    ),
    "test_revolve": (
        ("ir/host/revolve.c", None, "set_step(r, x->reverse, minus(r, plus(r, x->count, -1), t));",
         "set_step(r, x->reverse, t);"),
        ("ir/host/revolve.c", None, "two(r, VY_DIM_ADD, rest, sweeps_reach(r, s, j, len))", "rest"),
        ("ir/host/revolve.c", None, "advance(r, to, two(r, VY_DIM_ADD, at, t));", "advance(r, to, t);"),
        ("ir/host/revolve.c", None, "if (r->cleared[buffer]) vy_pipe_move(", "if (false) vy_pipe_move("),
        ("ir/host/revolve.c", None, "two(r, VY_DIM_ADD, slot, moves)", "slot"),
    ),
    "test_again": (
        ("ir/text/again.c", None, "p->same != q->same", "false"),
        ("ir/text/again.c", None, "x->func->same == y->func->same", "true"),
        ("ir/text/again.c", None, "a->order == b->order && ", ""),
        ("ir/text/again.c", None, "(parts || !is_part(fn))", "(parts || true)"),
        ("ir/text/again.c", None, "(at > from->ordinal || at < d->func->ordinal)", "true"),
        ("ir/text/again.c", None, "fn->decl->kind < last->decl->kind || ", ""),
        ("ir/text/again.c", None, "memcmp(a->text, b->text, a->size) == 0", "true"),
    ),
    "test_import": (
        ("ir/text/import.c", None, "(known->file && !known->file->open)", "known->file"),
        ("ir/text/import.c", None, "f->lines += count_lines(text, size);", ""),
        ("ir/text/parse.c", None, "f->order = 0; // of", "// of"),
        ("ir/core/files.c", None, "(vy_file_place){s->file, line - s->before, s->text, s->size};",
         "(vy_file_place){s->file, line, s->text, s->size};"),
    ),
    "test_transform": (
        ("autodiff/core/extract.c", None, "more |= pipelines[i] && need_rule(", "more |= false && need_rule("),
        ("autodiff/driver/transform.c", None, "x->apart == y->apart &&", ""),
        ("autodiff/driver/transform.c", None, "&& x->revolve == y->revolve &&", "&&"),
        ("autodiff/reverse/declare.c", None, ".parameter = like,", ".parameter = like + 1,"),
    ),
    "test_transform_more": (
        ("autodiff/driver/starts_meet.c", None, "if (own) role->root_parameter = role->parameter;", ""),
        ("autodiff/driver/starts_meet.c", None, "role->parameter = vy_program_find_buffer(p, name).id;", ""),
        ("autodiff/driver/starts_meet.c", None, "if (is_accessed(p, x)) return true;", ""),
        ("autodiff/driver/starts_meet.c", None, "if (is_named(name, o->add, o->add_count) || is_named(", "if (is_named("),
        ("autodiff/driver/alone.c", None, "vy_pipe_move(w->q, x.flat ? VY_PIPE_SHAPE : VY_PIPE_COPY, &x, &w->args[i], 0);", ""),
        # gradients of what is updated in place, added to what the caller has
        ("autodiff/driver/starts_meet.c", None, "if (vy_grad_default_of(p, (vy_buffer){i})) of[", "if (p->buffers.data[i].cls) of["),
        ("autodiff/reverse/build.c", None, "        finish_sums(r);\n", ""),
        ("autodiff/reverse/params.c", None, "const vy_init init = !r->facts.buffers[i].of ?", "const vy_init init = false ?"),
        ("autodiff/reverse/params.c", None, "if (facts->kept || facts->behind)", "if (facts->kept)"),
        ("autodiff/reverse/request.c", None, "f->wrt && !f->behind &&", "f->wrt &&"),
    ),
    "test_check": (
        ("autodiff/verify/check_direction.c", None, "return yes || (try_all(c, t, n / 2) &&", "return true || (try_all(c, t, n / 2) &&"),
        ("autodiff/verify/check_direction.c", None, "*yes = ok && difference <= c->unit * size;", "*yes = true;"),
        ("autodiff/verify/check_forward.c", None, "*yes = difference <= c->unit * size;", "*yes = true;"),
        ("autodiff/verify/check_forward.c", None, "t[e] * (ct ? ct[e] : 1)", "t[e]"),
        # What its row of `check` must notice: a rule of forward mode alone.
        ("autodiff/forward/forward.c", None, "if (term) sum = sum ? vy_add(", "if (term) sum = sum ? vy_sub("),
    ),
    "test_interval": (
        ("ir/facts/interval.c", None, "__builtin_sub_overflow(x.lo, y.hi, &r->lo)", "__builtin_sub_overflow(x.lo, y.lo, &r->lo)"),
        ("ir/facts/interval.c", None, "r->lo = min64(min64(c[0], c[1]), min64(c[2], c[3]));", "r->lo = c[0];"),
        ("ir/facts/interval.c", None, "return natural || y.lo > 0;", "return true;"),
        ("ir/facts/interval.c", None, "x.lo / (x.lo < 0 ? y.lo : y.hi)", "x.lo / y.hi"),
        ("ir/facts/interval.c", None, "&& x.lo / y.lo == x.hi / y.lo)", ")"),
        ("ir/facts/interval.c", None, "y.hi > 0 ? min64(x.hi, y.hi - 1) : 0", "min64(x.hi, y.hi - 1)"),
        ("ir/facts/interval.c", None, "y.lo < 0 || y.lo > 31", "y.lo < 0"),
        ("ir/facts/interval.c", None, "case VY_OP_AND: *r = (vy_interval){0, min64(x.hi, y.hi)}; return natural;",
         "case VY_OP_AND: *r = (vy_interval){0, min64(x.hi, y.hi)}; return true;"),
        ("ir/facts/interval.c", None, "*exact = fits && wraps && holds(t, r);", "*exact = fits && wraps;"),
        ("ir/facts/interval.c", None, "*exact = fits && wraps && holds(t, r);", "*exact = fits && wraps && t != VY_I64 && holds(t, r);"),
        ("ir/facts/interval.c", None, "return ordered(t, x) && vy_interval_within(", "return vy_interval_within("),
        ("ir/facts/interval.c", None, "vy_type_is_integer(from) && ordered(from, x) &&", "vy_type_is_integer(from) &&"),
        ("ir/facts/interval.c", None, "to.hi > from.lo ? to.hi - 1 : from.lo", "to.hi > from.lo ? to.hi - 2 : from.lo"),
        ("ir/facts/interval.c", None, "if (!ordered(t, from) || !ordered(t, to)) return", "if (false) return"),
        ("ir/facts/interval.c", None, "if (!ordered(t, x) || !ordered(t, y)) return -1;", ""),
        ("ir/facts/interval.c", None, "x.lo >= y.hi ? 0 : -1", "x.lo > y.hi ? 0 : -1"),
    ),
    "test_ways": (
        ("spirv/target/lavapipe_ways.c", None, "limited(w->count[id] + times * count_of(w, operand))", "limited(w->count[id] + times)"),
        ("spirv/target/lavapipe_ways.c", None, "w->same[id] = is_same(w, operand);", ""),
        ("spirv/target/lavapipe_ways.c", None, "first = limited(first * each);", "first = limited(first + each);"),
        ("spirv/target/lavapipe_ways.c", None, "return n <= MAX_UNROLLED ? n : 0;", "return 0;"),
    ),
    "test_device": (
        ("spirv/target/lavapipe_rounding.c", None, "SpvOpFOrdNotEqual, bools, halved", "SpvOpFOrdEqual, bools, halved"),
        ("spirv/target/lavapipe_rounding.c", None, "type, negative, up, down", "type, negative, down, down"),
        ("spirv/target/lavapipe_rounding.c", None, "SpvOpFOrdEqual, bools, n, zero", "SpvOpFOrdNotEqual, bools, n, n"),
    ),
    "test_as_text": (  # what one derivative knows and its text does not say; `@owned`
        ("ir/text/print_head.c", None, "if (b->owned) print_str", "if (0) print_str"),
        ("ir/core/equal.c", None, "x->owned == y->owned", "true"),
        ("ir/binary/binary_declarations.c", None, "(unsigned)f->owned << 1", "0u"),
        ("ir/text/lower_head.c", None, "if (d->owned)", "if (0)"),
        ("autodiff/storage/tape.c", None, "if (!r->p->host) vy_buffer_owned(r->b, (vy_buffer){g->buffer});", ""),
        ("autodiff/facts/race_free_owner.c", None, "take_owned(f)", "true"),
        ("autodiff/driver/gather_left.c", None, "vy_text_gradients(programs[k]);", "continue;"),
        ("autodiff/driver/derive.c", None, "out->programs.data[k]->stem = NULL;", "continue;"),
        ("autodiff/deterministic/deterministic.c", None, "!vy_pass_cleanup(first, &c)) {", "false) {"),
        ("autodiff/deterministic/totals.c", None, "vy_pass_cleanup(p, &c) &&", ""),
        ("autodiff/reverse/params.c", None, "!used[k] || ", ""),
        ("ir/eval/eval_memory.c", None, "if (b->one_owner) vy_mark_access(m, x);", ""),
        ("ir/eval/eval_marks.c", None, "(*at & ~OWNED) != me)", "false)"),
    ),
    "test_quirks": (  # drivers that get too many or too few workarounds, hooks called for another's
        ("spirv/target/quirks.c", None, "version < quirks[k].right", "version > quirks[k].right"),
        ("spirv/target/quirks.c", None, "default: return VY_QUIRKS_ALL;", "default: return 0;"),
        ("spirv/target/quirks.c", None, "driver_id == VENUS || driver_id > LAST", "driver_id == VENUS"),
        ("spirv/target/target.c", None, "VY_QUIRKS_ALL & ~o->spared;", "VY_QUIRKS_ALL;"),
        ("spirv/target/target.c", None, ".answer = bounds ? vy_mesa_answer : NULL,", ""),
        ("spirv/target/target.c", None, "have & VY_QUIRK_BIT(WIDENED_SIGNS) ?", "have & VY_QUIRK_BIT(MANY_WAYS) ?"),
        ("session/target.c", None, "const vy_quirks quirks = facts->driver_id", "const vy_quirks quirks = s->driver == VY_DRIVER_ANY"),
    ),
}

# Faults that only several invocations show: looked for with several.py's programs alone.
SEVERAL = (
    # a plain addition where other invocations add too
    ("ir/pass/sums/mark_owned.c", None, "if (!m->axes[buffer * m->stride + v] && !single(p, v)) return false;", ""),
    ("ir/pass/sums/mark_owned.c", None, "l->kind == VY_LEAF_OVER && l->index == variable", "l->kind == VY_LEAF_OVER"),
    ("ir/core/access.c", None, "if (k != but && vy_arg(p, x, k) != vy_arg(p, y, k)) return false;", ""),
    ("ir/core/access.c", None, "k < rank; k++", "k < (rank > 0); k++"),
    ("autodiff/facts/race_free_owner.c", None, "vy_same_index(p, load, store, VY_NO_AXIS) && implies(q, load, store) &&",
     "vy_same_index(p, load, store, VY_NO_AXIS) &&"),
    ("ir/pass/sums/mark_single_access.c", None, "b->init != VY_INIT_NONE ||", ""),
    ("autodiff/gather/gather_length.c", None, "&& same_arm(g, x->id, y->id)", ""),
    # barriers of the reverse
    ("autodiff/reverse/sweep.c", None, "if (op == VY_OP_BARRIER && r->facts.phased) vy_barrier(r->b);", ""),
    # bounds of an inverted access map
    ("autodiff/affine/iteration_domain.c", None, "constrain(n, isl_pw_aff_lt_set(vy_nest_axis(n, k), extent.pa));",
     "constrain(n, isl_pw_aff_le_set(vy_nest_axis(n, k), extent.pa));"),
    ("autodiff/affine/iteration_domain.c", None, "constrain(n, isl_pw_aff_ge_set(vy_nest_axis(n, k), vy_nest_number(n, 0)));",
     "constrain(n, isl_pw_aff_ge_set(vy_nest_axis(n, k), vy_nest_number(n, 1)));"),
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
    ("ir/pass/device/unroll_and_jam.c", None, "at = vy_min(b, at, top);", ""),
    ("ir/facts/domain_dependence.c", None, "any_of(a, ids, vy_slot_sources(a->p, a->s, id, ids));",
     "any_of(a, ids, vy_slot_sources(a->p, a->s, id, ids) > 0);"),
    ("ir/pass/device/coarsen.c", None, "if (*u == (LOADED | STORED)) return false;", ""),
)


# Faults in how sums are made: programs that gather, their walks, what they store, terms, exact sums,
# stages, counted loops, the domain test.  Looked for with directed.py's programs.
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
    ("autodiff/affine/affine_value.c", None, "return (int)(n->overs - 1 - l->axis);", "return (int)l->axis;"),
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
    ("autodiff/gather/gather.c", None, "(!g->sites[j].gathered || g->sites[j].program < k + 1)",
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

# Faults in which sizes leave shared arrays unfilled.  These, and the next five groups, are looked for
# with a script, on a wrong vyre-grad.
TILES = ("tiles_filled.py", (
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
))
# Faults in how loops end on a device (Mesa 22.3: another driver may be right with them).
ENDS = ("loop_ends.py", (
    ("spirv/target/mesa_loops.c", None, "if (f->library) return bound;", "return bound;"),
    ("spirv/target/mesa_loops.c", None, "if (f->library) return answer;", "return answer;"),
    ("spirv/emit/emit_control.c", None, "c.limit = frame->limit;", "c.limit = c.reverse ? c.from : c.to;"),
    ("spirv/emit/emit_counted.c", None, "if (c->count && c->reverse) return vy_spv_zero(", "if (c->count && c->reverse) return vy_spv_int("
     "f->m, c->unsigned_type, 1); return vy_spv_zero("),
    ("spirv/emit/emit_counted.c", None, "if (!computed || !f->m->hooks->bound) return bound;", "return bound;"),
))
# Faults in deciding whether stores of different invocations overlap, and who owns an element.
STORES = ("stores_meet.py", (
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
    ("autodiff/rewrite/own_atomics.c", None, "o->chosen[id] && buffers[p->insts.data[id].aux];", "o->chosen[id];"),
    ("autodiff/rewrite/own_atomics.c", None, "sites[id] = o->group[id] &&", "sites[id] = o->chosen[id] &&"),
    ("autodiff/facts/injective.c", None, "b->plain &= plain == all;", "b->plain &= plain != 0;"),
))
# Faults in what a call of a function with a rule contributes.
RULES = ("custom_rules.py", (
    ("autodiff/core/custom.c", None, "unit[k] = 0;\n    }", "}"),
    ("autodiff/core/custom.c", None, "all = sum(c->b, all, product(c->b, t, cotangents[o], tangents[o]));", "all = sum(c->b, all, tangents[o]);"),
    ("autodiff/core/custom.c", None, "out[k] = is_float(c, k) ? results[n++] : 0;", "out[k] = is_float(c, k) ? results[n] : 0;"),
    ("autodiff/core/custom.c", None, "all = sum(c->b, all, guard[k] ?", "all = sum(c->b, k > 1 ? 0 : all, guard[k] ?"),
    ("ir/build/inline.c", None, "all, slopes, VY_INLINE_VALUES, depth);", "all, slopes, VY_INLINE_DUAL, depth);"),
    ("ir/build/inline.c", None, "vy_float(b, type, floats == n).id;", "vy_float(b, type, floats == n ? 2 : 0).id;"),
))
# Faults in the control flow of pipelines: what runs ahead, how often, and what a condition is.
CONTROL = ("pipelines_derive.py", (
    ("ir/host/run_ahead.c", None, "if (is_changed(flags[f->buffers[i]])) begin_trial(w, f->buffers[i]);", ";"),
    ("ir/host/run_ahead.c", None, "return mark(c, s, true, flags, NEEDED) || touched;", "return touched;"),
    ("ir/host/run_ahead.c", None, "vy_pipe_move(w->c.q, VY_PIPE_COUNT, NULL,", "(void)vy_pipe_move; (void)("),
    ("ir/host/run_ahead.c", None, "raise_most(w, opener, counting_value(w, count));", ";"),
    ("ir/host/count_whiles.c", None, "if (s->test) walk(w, s->test + 1, s->partner);", ""),
    ("ir/host/lower_number.c", None, "return zero && !zero->u ? lower_number", "return zero ? vy_dim_const(w->b, 0) : zero ? lower_number"),
    ("ir/host/lower.c", None, "if (!lower_stopped(w)) vy_pipe_assign(w->q, VY_PIPE_SET, &to, n);", ""),
))
# Faults in which states are their own tape, and in what is not cleared.
STATES = ("pipelines_derive.py", (
    ("ir/host/fuse_stages.c", None, "vy_fuse_is_own(q->a, u) &&", ""),
    ("ir/host/fuse_stages.c", None, "vy_fuse_is_own(q->b, v);", "true;"),
    ("ir/host/fuse_stages.c", None, "return by ? (a.offset - b.offset) % by != 0 :", "return by ? true :"),
    ("ir/host/fuse_stages.c", None, "(b->cls != VY_OUT || vy_fuse_overwrites(q->b, v))", "true"),
    ("ir/host/fuse_stages.c", None, "w->uses[id] == 2 &&", ""),
    ("ir/host/fuse_stages.c", None, "if (!is_same_domain(q)) return false;", ""),
    ("ir/host/fuse_access.c", None, "return i->op == VY_OP_STORE && !depth;", "return i->op == VY_OP_STORE;"),
    ("autodiff/gather/gather.c", None, "if (g->r->buffers.data[buffer].cls == VY_INOUT) return true;", ""),
    ("ir/host/states.c", None, "(at > offset || (at == offset", "(at > -99 || (at == offset"),
    ("ir/host/states.c", None, "index[0] = vy_dim_binary(b, VY_DIM_ADD, index[0], vy_dim_const(b, s->offset));", ";"),
))
OLD_OWN = ("text/deterministic/old_own.vyre", (
    ("autodiff/deterministic/deterministic.c", None, "o->w.map[id] = old.id;", ";"),
))
LIFETIMES = ("text/opt/lifetimes.vyre", (("ir/build/live_mark.c", None, "!(clears && up == w->w.s.parent[l->zero])", "!clears"),))
READ_AHEAD = ("text/pipeline/read_ahead.vyre", (("ir/build/pipe_uses.c", None, "return at < u->count;", "return true;"),))
BEGIN_ORDER = ("text/pipeline/begin_order.test", (
    ("ir/build/pipe_drop.c", None, "if (ok && next == count) {", "if (0) {"),
    ("ir/build/pipe_drop.c", None, "for (uint32_t i = 0; ok && i < l->steps.count; i++) {", "for (uint32_t i = l->steps.count; ok && i-- > 0;) {"),
))
# … that random pipelines seldom meet.
TURNS = ("text/grad/pipeline/states.vyre", (
    ("ir/host/states.c", None, "repeat, e, &at) && at >= 0 && at < r->ahead;", "repeat, e, &at);"),
    ("ir/host/states.c", None, "return at < r->ahead || (at == r->ahead && u->step >= r->write);", "return true;"),
))
# Faults in what the steps of a condition leave behind.
WHILE_END = ("text/grad/pipeline/while_end.vyre", (
    ("ir/host/lower_places.c", None, "return id < w->s.test[up] && w->s.test[up] < next;", "return false;"),
))
# Faults in how often loops run, where that is found ahead.
COUNTED = ("text/grad/pipeline/counted.vyre", (
    ("autodiff/storage/plan.c", None, "is_count(g, id) || !vy_can_repeat(", "!vy_can_repeat("),
    ("autodiff/storage/plan.c", None, "is_count(g, id) ? 1 : g->keeper + 1", "g->keeper + 1"),
    ("ir/host/count_whiles.c", None, "shifted ? vy_dim_binary(b, VY_DIM_ADD, from, counter) : counter;", "counter;"),
    ("ir/host/count_whiles.c", None, "if (w->bound[at].id) times = vy_dim_binary(b, VY_DIM_MIN, times, w->bound[at]);", ""),
    ("ir/host/run_ahead.c", None, "from_constant ? to : vy_dim_binary(b, VY_DIM_SUB, to, from)", "to"),
    ("ir/host/run_ahead.c", None, "return vy_dim_binary(b, VY_DIM_MAX, end, vy_dim_const(b, 0));", "return end;"),
    ("ir/build/live_mark.c", None, "if (key_of(p, id) >= 0) m->extent[key_of(p, id)] = id;", "if (key_of(p, id) >= 0 && !m->extent[key_of(p, id)]) m->extent[key_of(p, id)] = id;"),
))
# Faults in what the text of a lowered program means to differentiation.
LOWERED = ("text/grad/rewrite/lowered.vyre", (
    ("autodiff/rewrite/raise_lowered.c", None, "(uint32_t[]){x, y}", "(uint32_t[]){x, x}"),
    ("autodiff/rewrite/raise_lowered.c", None, "const bool derives = i->op == VY_OP_DERIVE_AS;", "const bool derives = false;"),
    ("autodiff/driver/jvp.c", None, "vy_raise_lowered(p) &&", ""),
))
# Faults in what buffers begin as copies of.
BEGINS = ("text/grad/order/starts.vyre", (
    ("ir/build/starts.c", None, "b->init_from = input ? r.name : NULL;", ";"),
    ("ir/build/starts.c", None, "b->init = input ? VY_INIT_COPY : r.init;", "b->init = VY_INIT_COPY; if (!input) b->init_from = r.name;"),
    ("autodiff/driver/starts_meet.c", None, "|| is_named(name, o->of, o->of_count)", ""),
    ("autodiff/driver/starts_meet.c", None, "if (!vy_starts_alike(p, &p->buffers.data[i], &p->buffers.data[x])) return true;", ""),
    ("autodiff/driver/alone.c", None, "x.flat = b->rank > 1 &&", "x.flat = false &&"),
    ("autodiff/explain/explain_pipeline.c", None, "if (program_apart(m, o)) return true;", ""),
))
# Faults in what decides whether a barrier is reached, where it is recomputed.
RECOUNTED = ("text/grad/shared/recounted.vyre", (
    ("autodiff/reverse/recount.c", None, "variable(r, opener, number), out, in);", "(uint32_t)((void)variable, number), out, in);"),
    ("autodiff/reverse/recount.c", None, "decides(r, opener, k) ? out[count++] : 0;", "decides(r, opener, k) ? out[0] : 0;"),
    ("autodiff/reverse/replay.c", None, "if (r->build.values_only && r->p->buffers.data[i->aux].cls != VY_IN) {", "if (0) {"),
))
# Faults in what is kept of intermediates whose sizes iterations decide.
OWN_SIZES = ("text/grad/pipeline/own_sizes.vyre", (
    ("ir/host/lower_call.c", None, "if (shape.dims[k].id && same_extent(a->callee, b->dims[k], dim))", "if (false)"),
    ("autodiff/storage/tape_tensor.c", None, "facts.buffers[r->p->insts.data[zero].aux].home : UINT32_MAX;", "facts.buffers[r->p->insts.data[zero].aux].home + 1 : UINT32_MAX;"),
    ("autodiff/storage/tape_tensor.c", None, "if (r->plan.kept[id] == r->build.replaying + 1) begin(r, id);", "begin(r, id);"),
    ("autodiff/storage/tape_tensor.c", None, "home == keeper || vy_encloses(&r->facts, home, keeper)", "home == keeper"),
    ("autodiff/storage/tape_tensor.c", None, "begins ? vy_dim_binary(r->b, VY_DIM_MAX, counts[k], vy_dim_const(r->b, 0)) : counts[k];", "counts[k];"),
    ("autodiff/storage/tape.c", None, "= begins ? VY_LOCAL : VY_INOUT;", "= VY_INOUT;"),
    ("autodiff/storage/tape_tensor.c", None, "while (r->facts.scope[at] != keeper) at = r->facts.scope[at];", "at = r->facts.scope[at];"),
    ("autodiff/storage/plan.c", None, "&& vy_cut_is_used(&g->cut, node);", ";"),
    ("autodiff/storage/plan.c", None, "(r->p->host && !vy_tape_fits(r, id, g->keeper));", "false;"),
    ("ir/host/raise.c", None, "if (block && begins_open(r, s))", "if (0)"),
    ("autodiff/driver/derive_pipeline.c", None, "return order > 1 && t->options->checkpoint &&", "return order > 9 && t->options->checkpoint &&"),
))
SEGMENTS = ("text/grad/pipeline/segments_again.vyre", (
    ("ir/host/lower.c", None, "w->current[buffer] = buffer; // a loop", "// a loop"),
))
# Faults in what a derivative with the schedule of revolve is differentiated as.
PLAIN = ("text/grad/pipeline/revolve_again.vyre", (
    ("autodiff/driver/derive_pipeline.c", None, "*body = vy_derived_as(source);", "*body = source;"),
    ("autodiff/driver/derive_as.c", None, "if (q ? vy_same_program(p, q) : !vy_module_find_pipeline(out, p->name)) continue;", "continue;"),
))
EXACT_AGAIN = ("text/deterministic/again.vyre", (
    ("autodiff/driver/entry.c", None, "if ((n || make_pipeline(out, diag)) && add_plain(out, m, options, diag)) return out;", "(void)make_pipeline, (void)add_plain; return out;"),
    ("autodiff/driver/entry.c", None, "if ((n || make_pipeline(out, diag)) && add_plain(", "if (n && add_plain("),
    ("ir/core/derive_as.c", None, "any |= p->buffers.data[i].made == VY_MADE_SUMS && p->buffers.data[i].type == VY_I32;", "any = p->buffers.count > 0;"),
    ("ir/text/print_head.c", None, "if (!o->p->signature && vy_exact_sums(o->p)) print_str", "if (0) print_str"),
    ("ir/text/lower.c", None, "vy_builder_program(l.b)->exact_sums = fn->exact_sums;", ";"),
    ("autodiff/driver/derive_as.c", None, "if (p && vy_exact_sums(p)) return refuse(", "if (0) return refuse("),
    ("autodiff/verify/check_image.c", None, "return exact ? vy_derived_as(l) : l;", "return (void)exact, l;"),
    ("tools/verbs/check/check_device.c", None, "start_again(k, c, k->named, false, &named, d)", "start_again(k, c, k->source, false, &named, d)"),
))
# … and in what that becomes where the pipeline is dispatched.
DISPATCHED = ("text/parse/derive_as_dispatched.vyre", (
    ("ir/build/pipe_stand_in.c", None, "copy_steps(c, at, s->partner);", ";"),
    ("ir/build/pipe_stand_in.c", None, "at = s->test;", "at = s->partner;"),
    ("ir/build/pipe_stand_in.c", None, "(names && names->is_taken(names->user, text));", "false;"),
    ("ir/build/pipe_stand_in.c", None, "k < q->calls.count && !l->signature->rules[VY_DERIVE_AS]; k++", "k < q->calls.count; k++"),
    ("ir/core/derive_as.c", None, "n && (other = vy_named_as(l)); n--) l = other;", "n && (other = vy_named_as(l)); n = 0) l = other;"),
    ("ir/text/lower.c", None, "if (fn->has_stand_in) sorted[n++]", "if (0) sorted[n++]"),
    ("ir/text/sema.c", None, "if (other && other->color == 0) find_recursion(f, other);", "(void)other;"),
))
NAMED = ("text/parse/derive_as.vyre", (
    ("ir/host/raise.c", None, "p->rules[VY_DERIVE_AS] = NULL;", ";"),
    ("ir/binary/binary_declarations.c", None, "flags >> (3 + k) & 1", "k < VY_RULES_OF && flags >> (3 + k) & 1"),
))
# Faults in which loads give one value.
EQUAL = ("text/grad/pipeline/equal_loads.vyre", (
    ("autodiff/facts/equal_loads.c", None, "if (vy_host_other_slice(f->p, r->loads[k], id)) r->loads", "r->loads"),
    ("autodiff/facts/equal_loads.c", None, "if (vy_is_marker((vy_op)i->op)) marker = id;", ""),
    ("autodiff/reverse/replay.c", None, "} else if (same) {", "} else if (false) {"),
))
# Faults in what is logged and put back, and for which buffers.
UNDO = ("text/grad/pipeline/undo.vyre", (
    ("autodiff/reverse/undo_form.c", None, "f->site[store] - 1).id", "0).id"),
    ("autodiff/reverse/undo_form.c", None, "i->aux != to)\n            return false;", "i->aux != to)\n            return true;"),
    ("autodiff/reverse/undo_find.c", None, "if (!c->loaded && !f->r->facts.s.parent[id]) return true;", "if (!f->r->facts.s.parent[id]) return true;"),
    ("autodiff/reverse/undo_find.c", None, "const bool given = !buf->workspace && r->options->with_value;", "const bool given = false;"),
    ("autodiff/reverse/undo_events.c", None, "if (!store || store > end) return end;", "return end;"),
    ("autodiff/reverse/undo_sweep.c", None, "load_slice(r, id), r->build.map[id])", "load_slice(r, id), load_slice(r, id))"),
    ("autodiff/reverse/undo_worth.c", None, "of->logs < of->saved && of->read)", "of->read)"),
    ("autodiff/reverse/undo_worth.c", None, " && of->read)) continue;", ")) continue;"),
    ("autodiff/storage/undo_shape.c", None, "if (extent.id) return extent;", "if (extent.id && false) return extent;"),
))
# Faults in what `check` compares the device with.
DEAD_STORE = ("text/check/dead_store.vyre", (
    ("tools/verbs/check/check_device.c", None, "ok = ok && check_derive(k, c, false,", "k->source = source, c->module = parsed, c->work.module = parsed;\n    ok = ok && check_derive(k, c, false,"),
))
# Faults in what padding lanes load, on lavapipe of Mesa 22.3.
OWN_ELEMENTS = ("text/grad/order/many_elements.vyre", (
    ("spirv/emit/emit_memory.c", None, "    return constant;", "    return constant && false;"),
))
# Faults in what arms of several ifs share.
SHARED_ARMS = ("text/opt/share_arms.vyre", (
    ("ir/pass/scalar/ifconvert.c", None, "&& no == other;", ";"),
    ("ir/pass/scalar/share_arms.c", None, "return x->yields[id] && is_directly_in_arm(x, id, later);", "return x->yields[id];"),
    ("ir/pass/scalar/share_arms.c", None, "x->gone[id] && !x->before[id] && is_directly_in_arm", "x->gone[id] && is_directly_in_arm"),
    ("ir/pass/scalar/share_arms.c", None, "return x->before[id] && x->before[id] <= head ?", "return x->before[id] ?"),
    ("ir/pass/scalar/share_arms.c", None, "return x->before[id] && x->before[id] <= head ? BEFORE : NOWHERE;", "return NOWHERE;"),
    ("ir/pass/scalar/share_arms.c", None, "if (x->asked[id] == later) return (place)", "if (x->asked[id]) return (place)"),
))
IMPLIED = ("text/opt/implied.vyre", (
    ("ir/facts/context.c", None, "(f->strict || !strict)) return true;", "true) return true;"),
    ("ir/facts/context.c", None, "const int decisive = op == VY_OP_OR;", "const int decisive = op == VY_OP_AND;"),
))
OWNED_LOADS = ("text/grad/exclusive/owned.vyre", (
    ("ir/pass/scalar/licm.c", None, "b->cls == VY_SHARED || b->owned ||", "b->cls == VY_SHARED ||"),
))
ENDS_ALIKE = ("text/grad/pipeline/ends_alike.vyre", (
    ("ir/host/raise_states.c", None, "if (!r->hints.data[id]) r->hints", "r->hints"),
))
COARSENED = ("text/opt/coarsen.vyre", (
    ("ir/pass/device/unroll_and_jam.c", None, "if (ok && changed) drop_owners(p);", ""),
))
NESTED = ("text/opt/nested_selects.vyre", (
    ("ir/pass/scalar/nested_selects.c", None, "vy_type_is_float(vy_id_type(p, id))", "true"),
    ("ir/pass/scalar/nested_selects.c", None, "if (!other) x->uses[id]--;", "x->uses[id]--;"),
    ("ir/pass/scalar/nested_selects.c", None, "x->condition[id] && !x->uses[id]; }", "x->condition[id]; }"),
    ("ir/pass/scalar/nested_selects.c", None, "vy_arg(p, id, 0), k == 1);", "vy_arg(p, id, 0), true);"),
))
FUSED = ("text/grad/pipeline/fused.vyre", (
    ("ir/host/fuse_stages.c", None, "vy_fuse_covers(q->a, u) &&", ""),
    ("ir/host/fuse_stages.c", None, "vy_type_loaded(b->type) == b->type &&", ""),
))
ROTATION = ("text/grad/pipeline/rotation.vyre", (
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
    ("autodiff/reverse/sweep_dispatch.c", None, "!load || !is_apart(d, i, load)) continue;", "!load) continue;"),
))
# Faults that only third derivatives show: the script runs gradcheck_file.
THIRD = ("third_order.py", (
    (*OPS, "POLYGAMMA(AUX + 1, A)", "POLYGAMMA(AUX + (AUX != 3), A)"),
))
# Faults in how long the text of a gradient becomes.
LENGTH = ("linear_reverse.py", (
    ("autodiff/gather/gather_length.c", None, "TIMES = 8,", "TIMES = 80,"),
    ("autodiff/gather/gather_length.c", None, "if (first == k) g->", "if (!k) g->"),
    ("autodiff/gather/gather_length.c", None, "n += g->sites[j].need[id] && !g->counted[id];", "n += g->sites[j].need[id] && !id;"),
))
EXPLAINED = ("text/explain/checkpoints.vyre", (
    ("autodiff/explain/pipe_steps.c", None, "!contains(each, counter))) return", "true)) return"),
    ("autodiff/explain/pipe_run.c", None, "is_counter(d, step) : r->marked[d->a] || r->marked[d->b];", "is_counter(d, step) : r->marked[d->a];"),
    ("ir/host/revolve.c", None, "(k < MOST_LEVELS ? k : MOST_LEVELS)", "k"),
))
LONG = ("explain.py", (
    ("spirv/write/text.c", None, "t->lengths[index] |= USED;", ";"),
    ("autodiff/explain/explain_pipeline.c", None, "w->run = made[2] ? last_of(made[2]) : w->source;", "w->run = w->source;"),
))
SHAPES = ("text/diag/e0220_program_shape.vyre", (
    ("ir/core/program_rule.c", None, "!vy_same_lengths(p, &p->buffers.data[role.parameter], rule, b))", "false)"),
    ("ir/core/program_rule.c", None, "{1, 6, 35, 1001}", "{1}"),
))
# Faults in what is passed as flat(…), and in what begins as a copy.
FLAT = ("pipelines_derive.py", (
    ("ir/build/pipe_flat.c", None, "if (r->gives) move(c, copy,", "if (0) move(c, copy,"),
    ("ir/build/pipe_flat.c", None, "if (r->takes) move(c, &r->place,", "if (0) move(c, &r->place,"),
    ("ir/build/pipe_flat.c", None, "shape[k] = inline_dim(&of, parameter->dims[k]);",
     "shape[k] = inline_dim(&of, parameter->dims[parameter->rank - 1 - k]);"),
    ("ir/build/pipe_kernels.c", None, "body(b, k, x, y, flattens ? &flat : index, shapes ? &flat : index);",
     "body(b, k, x, y, flattens ? &flat : index, shapes ? &index[k->rank - 1] : index);"),
    ("ir/host/flatten.c", None, "if (copies[n].shape) inline_reshape_back(", "if (0) inline_reshape_back("),
    ("autodiff/reverse/prune.c", None, "if (map[i] && b->init == VY_INIT_COPY) map[", "if (0) map["),
))
# Faults in what conditions, variables and reversed counters are.
HOST = ("host_control.py", (
    ("ir/build/dim_condition.c", None, "vy_dim_binary(b, VY_DIM_SUB, y, x));", "vy_dim_binary(b, VY_DIM_SUB, x, y));"),
    ("ir/build/dim_condition.c", None, "vy_dim_binary(b, VY_DIM_MAX, up, down)", "up"),
    ("ir/text/condition.c", None, "e->op == TK_ANDAND ? VY_DIM_MIN : VY_DIM_MAX", "VY_DIM_MIN"),
    ("ir/text/condition.c", None, "case TK_GE: return vy_le(b, y, x);", "case TK_GE: return vy_lt(b, y, x);"),
    ("ir/text/condition.c", None, "return values[v->next++];", "return values[0];"),
    ("ir/text/lower_pipe.c", None, "lower_arm(l, s->other, vy_dim_not(l->b, c),", "lower_arm(l, s->other, c,"),
    ("ir/build/pipe_condition.c", None, ".dim = x->index[i]};", ".dim = vy_dim_const(q->b, 0)};"),
    ("ir/text/parse_pipe.c", None, "return has ? ops[assignment - TK_SET_ADD] : TK_END;", "return has ? TK_ADD : TK_END;"),
    ("ir/eval/eval_pipeline.c", None, "r->depth--;\n    return r->pipeline", "return r->pipeline"),
))
# Faults in which file a buffer is read from.
FOLDER = ("text/cmd/folder.vyre", (
    ("tools/command/folder.c", None, "s->folders.count; i-- > 0;", "s->folders.count; i-- > s->folders.count - 1;"),
    ("tools/command/folder.c", None, "b.workspace || specs_find(s, b.name)) continue;", "b.workspace) continue;"),
    ("tools/command/folder.c", None, "b.cls == VY_OUT || b.workspace", "b.workspace"),
    ("tools/command/folder.c", None, "if (!path && own) return no_file(s, b.name, d);", ";"),
    ("tools/command/folder.c", None, "|| specs_find(out, name)) return true;", ") return true;"),
))
# Faults in what is said of a checkpoint of another training.
RESUMED = ("fit_resume.py", (
    ("tools/verbs/fit/fit_identity.c", None, "|| !strcmp(is->value, was->value)) continue;", ") continue;"),
    ("tools/verbs/fit/fit_identity.c", None, "if (!s->known || !fit_is_size(f, s->info.name)) continue;", "continue;"),
    ("tools/verbs/fit/fit_identity.c", None, "if (now.code) *d = now;", ";"),
    ("tools/verbs/fit/fit_prepare.c", None, "(!c->o.resume || !fit_is_other(f, c, d)) &&", ""),
    ("tools/verbs/fit/fit_checkpoint.c", None, "if (f->resumed.identity != f->identity) return", "if (0) return"),
))
# Faults in what is kept within --tape-limit.
LEAST = ("text/grad/pipeline/limit.vyre", (
    ("session/derive.c", None, "|| bytes < w->least_bytes) w->least", "|| true) w->least"),
))
LIMIT = ("text/explain/limit.vyre", (
    ("tools/verbs/check/check.c", None, "if (k->first.module || !derive_with_less(c, d)) return false;", "return false;"),
    ("session/derive.c", None, "return storage < AGAIN ? AGAIN - storage : 1;", "return storage < AGAIN ? MOST_STATES : 1;"),
    ("session/derive.c", None, "if (storage < REVOLVE) return 0;", "return 0;"),
    ("ir/host/revolve.c", None, "        s->keep = VY_KEEP_REVOLVE", "        if (0) s->keep = VY_KEEP_REVOLVE"),
    ("ir/host/revolve.c", None, "        s->keep = VY_KEEP_REVOLVE", "        if (s->keep == VY_KEEP_ALL) s->keep = VY_KEEP_REVOLVE"),
    ("autodiff/reverse/sweep_dispatch.c", None, ".checkpoint = o->checkpoint,", ""),
    ("tools/verbs/explain/explain_keep.c", None, "return bytes->known && bytes->value > limit_of(c);", "return bytes->known && bytes->value >= limit_of(c);"),
))
# Faults in which options a verb has.
OPTIONS = ("command_options.py", (
    ("tools/command/options.c", None, ": takes_option(v, &table[i])))", ": true))"),
    ("tools/command/options.c", None, "if (takes_option(v, &table[i])) return &table[i];", ";"),
    ("tools/command/options.c", None, "if (!takes_option(o->verb, opt)) return wrong_verb(o, name, d);", ""),
))
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
    ("autodiff/rewrite/constant_trips.c", None, "memset(w->has + loop, 0, end - loop);", ""),
    ("autodiff/rewrite/constant_trips.c", None, "if (!go.u) return iteration + 1;", "if (!go.u) return iteration + 2;"),
    ("ir/pass/scalar/invariant_carries.c", None, "x->held &= !drop(x, id);", "drop(x, id);"),
    ("ir/pass/scalar/invariant_results.c", None, "|| vy_exits(p, loop))", ")"),
    ("ir/pass/scalar/unroll.c", None, "u->trips[loop] - 1 - trip", "u->trips[loop] - trip"),
)
# Faults in which accesses may touch one element, and in what other ones the programs of extrema do.
APART = ("text/grad/atomics/apart.vyre", (
    ("autodiff/facts/element_groups.c", None, "return x.hi < y.lo || y.hi < x.lo;", "return x.lo < y.lo;"),
    ("autodiff/facts/element_groups.c", None, "if (many || !differ_by_isl(g, x, y)) join(g, x, y);", ""),
    ("autodiff/facts/element_groups.c", None, "join(g, g->site[k], id);", ";"),
    ("autodiff/facts/element_groups.c", None, "return none && vy_affine_ok(&g->isl);", "return false;"),
    ("autodiff/reverse/replay.c", None, "if (facts->extremum && vy_is_contested(r->p, id)) {",
     "if (facts->extremum && i->op != VY_OP_LOAD) {"),
    ("autodiff/forward/forward_extremum.c", None, "if (!vy_is_contested(x->w.p, id) || !x->winner[i->aux]) return 0;",
     "if (!vy_op_is_memory((vy_op)i->op) || !x->winner[i->aux]) return 0;"),
    ("autodiff/rewrite/own_atomics.c", None, "return vy_is_extremum(op) && vy_type_is_float(", "return false && vy_type_is_float("),
    ("autodiff/facts/injective.c", None, "isl_map_is_empty(b->map) == isl_bool_false;", "true;"),
))
# Faults in what barriers order.
PHASES = ("text/grad/atomics/phases.vyre", (
    ("autodiff/rewrite/extremum_sites.c", None, "return vy_lane_owns(&x->facts, x->differs, site);", "return true;"),
    ("autodiff/rewrite/extremum_sites.c", None, "&& !vy_surely_apart(&x->apart, id, site);", ";"),
    ("autodiff/rewrite/extremum_sites.c", None, "return !VY_IS_LEAF(a) && a >= s->outer && !vy_candidate_group(e, s, k);",
     "return true;"),
    ("autodiff/facts/workgroup_elements.c", None, "return by && by->u == shape[axis] &&", "return false &&"),
    ("autodiff/facts/workgroup_elements.c", None, "if (axis >= n) return false;", ""),
    ("autodiff/rewrite/extremum_vote.c", None, "vy_candidate_each(e, s, forget);", ";"),
    ("autodiff/rewrite/extremum_vote.c", None, "if (e->own[id]) replace_own(e, id);", ""),
    ("autodiff/forward/forward.c", None, "f->w.map[id] = vy_new_arg(&f->w, id, 0);\n        return id;", "return 0;"),
))
# Faults in what candidates of loops that lanes do not run together have in common.
DIVERGENT = ("text/grad/atomics/divergent.vyre", (
    ("autodiff/rewrite/extremum_sites.c", None, "return !VY_IS_LEAF(a) && a >= s->outer", "return !VY_IS_LEAF(a) && a > s->outer"),
    ("autodiff/rewrite/extremum_loops.c", None, "&& a >= site(x, k)->loop)", "&& a > site(x, k)->loop)"),
    ("autodiff/rewrite/extremum_loops.c", None, " || !is_apart(x, j, k)) join", ") join"),
    ("autodiff/rewrite/extremum_loops.c", None, "(x->made && vy_surely_apart(&x->apart, a, b));", "false;"),
    ("autodiff/rewrite/extremum_loops.c", None, "| other_axes(x, s->leader, k);", ";"),
    ("autodiff/rewrite/extremum_loops.c", None, "if (group && group == vy_candidate_group(e, b, axis)) return false;", ""),
    ("autodiff/rewrite/extremum_loops.c", None, "!s->loop || uses_old[vy_candidate_inst(x->e, s)->aux];",
     "!s->loop || x->e->used[s->atomic];"),
    ("autodiff/rewrite/extremum_candidate.c", None, "if (s->loop) v = with_earlier(e, s, index, v);", ""),
    ("autodiff/rewrite/extremum_candidate.c", None, "set(e, s, s->candidate, s->index, none_yet(e, s));", ""),
    ("autodiff/rewrite/extremum_candidate.c", None, "if (has_place(e, s, k)) set_place(e, s->places[k], index[k]);", ";"),
    ("autodiff/rewrite/extremum_candidate.c", None, "all = vy_and_in_range(e->w.b, all, s->index[k], extent);", "(void)extent;"),
    ("autodiff/driver/derive.c", None, "role->parameter = id;", ""),
))
AGAIN = ("text/grad/pipeline/condition_again.vyre", (
    ("ir/host/count_whiles.c", None, "w->count[at] = (vy_buffer){0}; // steps", "// steps"),
))
# The reader of SPIR-V: what only shaders show.
SENSES = ("text/shader/senses.comp", (
    ("spirv/read/operation.c", None, "*out = not(s, ordered(s, true, true)); return true;", "*out = ordered(s, false, false); return true;"),
    ("spirv/read/operation.c", None, "if (op == SpvOpShiftRightArithmetic) t = as_type(t, AS_SIGNED);", ""),
))
ARITHMETIC = ("text/shader/arithmetic.comp", (
    ("spirv/read/operation.c", None, "case SpvOpFOrdGreaterThan: *out = ordered(s, true, false);", "case SpvOpFOrdGreaterThan: *out = ordered(s, true, true);"),
    ("spirv/read/values.c", None, "return vy_shr(r->b, vy_shl(r->b, read_as(r, wide, v), bits), bits);", "return v;"),
    ("ir/build/geometry.c", None, 'return vy_call(b, "straight_through", 2, (vy_value[]){root, far});', "return root;"),
))
FLOW = ("text/shader/flow.comp", (
    ("spirv/read/control.c", None, "return op != SpvOpFunctionCall && !(r->facts[id] & READ_OUTLIVES);", "return true;"),
    ("spirv/read/control.c", None, "steps < 8 && !has_phi(r, merge); steps++", "steps < 8; steps++"),
    ("spirv/read/control.c", None, "if (op == SpvOpPhi || !result) return op != SpvOpStore && op != SpvOpCopyMemory;",
     "if (op == SpvOpPhi || !result) return true;"),
    ("spirv/read/memory.c", None, "t->e.field = before + read_type_of(t->r, member)->fields;", "t->e.field = before + 1;"),
))
CHOICE = ("text/shader/choice.comp", (
    ("spirv/read/switch.c", None, "vy_set(r->b, c->falls, vy_bool(r->b, false));", ""),
    ("spirv/read/switch.c", None, "e.falls = t->next ? c->falls : (vy_var){0};", ""),
))
LANES = ("text/shader/lanes.comp", (
    ("spirv/read/sync.c", None, "const vy_value from = lane(r, op, read_as(r, VY_U32, given));", "const vy_value from = read_as(r, VY_U32, given);"),
))
LANES_MORE = ("text/shader/lanes_more.comp", (
    ("spirv/read/lanes.c", None, "return below(r, last, 1, neutral(r, name, t), (vy_value){0});", "return last;"),
    ("spirv/read/lanes.c", None, "const vy_value has = vy_and(r->b, mine, c);", "const vy_value has = c;"),
    ("spirv/read/lanes.c", None, "if (how == SpvGroupOperationInclusiveScan) under = vy_or(r->b, under, bit);", ""),
))
TYPES = ("text/shader/types.comp", (
    ("spirv/read/composite.c", None, "return part(p, operand, column * rows + row);", "return part(p, operand, row * rows + column);"),
))
ALIAS = ("text/shader/alias.comp", (
    ("spirv/read/variables.c", None, "w->offset = start + member_layout(w, type, k, SpvDecorationOffset);", "w->offset = start;"),
    ("spirv/read/alias.c", None, "if (of[end].binding != of[k].binding || of[end].o->kind != of[k].o->kind) break;", "break;"),
    ("spirv/read/alias.c", None, "vy_sub(r->b, all, skip)", "all"),
    ("spirv/read/alias.c", None, "a->use |= r->uses", "a->use = r->uses"),
))
ALIAS_WORDS = ("text/shader/alias_words.comp", (
    ("spirv/read/alias.c", None, "a->words ? 1 : vy_type_size(a->type);", "vy_type_size(a->type);"),
    ("spirv/read/alias.c", None, "if (vy_type_is_float(type)) return read_f16_of_bits(r, bits);", ""),
    ("spirv/read/alias.c", None, "return read_narrow(r, type, read_as(r, vy_type_loaded(type), bits));", "return read_as(r, vy_type_loaded(type), bits);"),
))
PACK = ("text/shader/pack.comp", (
    ("spirv/read/pack.c", None, "word(r, 0x38800000)", "word(r, 0x38000000)"),
    ("spirv/read/pack.c", None, "word(r, 0x400)", "word(r, 0)"),
    ("spirv/read/pack.c", None, "return p->is_signed ? clamped(r, p, x) : x;", "return x;"),
    ("spirv/read/pack.c", None, "scaled = vy_mul(r->b, clamped(r, p, x), most);", "scaled = vy_mul(r->b, x, most);"),
    ("spirv/read/pack.c", None, "a > b ? part(r, b, k % (a / b), bits[k / (a / b)])", "a > b ? part(r, b, 0, bits[k / (a / b)])"),
))
IMAGE = ("text/shader/image.comp", (
    ("spirv/read/texel.c", None, "index[t->axes - 1 - k] = at[k];", "index[k] = at[k];"),
    ("spirv/read/texel.c", None, "channel == 3);", "0);"),
    ("spirv/read/texel.c", None, "shift(&t, more.offset, at);", ""),
))
IMAGE_FORMATS = ("text/shader/image_formats.comp", (
    ("spirv/read/texel.c", None, 'return vy_call(b, "straight_through", 2, (vy_value[]){step, inside});', "return step;"),
    ("spirv/read/texel.c", None, "(vy_value[]){step, inside}", "(vy_value[]){step, x}"),
    ("spirv/read/texel.c", None, "const uint32_t most = channel == 3 ? f->most_alpha : f->most;", "const uint32_t most = f->most;"),
    ("spirv/read/texel.c", None, "case READ_TEXEL_SNORM: return in_steps(t, -1, most, x);", "case READ_TEXEL_SNORM: return in_steps(t, 0, most, x);"),
    ("spirv/read/texel.c", None, "case READ_TEXEL_HALF: return vy_cast(t->r->b, VY_F32, vy_cast(t->r->b, VY_F16, x));", "case READ_TEXEL_HALF: return x;"),
))
IMAGE_KINDS = ("text/shader/image_kinds.comp", (
    ("spirv/read/alias.c", None, "of[i].o->fields = first->fields;", ""),
    ("spirv/read/texel.c", None, "*field = p->rank ? p->index[0].number : 0;", "*field = 0;"),
    ("spirv/read/image.c", None, "t->axes = t->spatial + (read_word_of(&r->w, type, 5) != 0);", "t->axes = t->spatial;"),
))
SAMPLER = ("text/shader/sampler.comp", (
    ("spirv/read/sample.c", None, "if (s->linear) u = vy_sub(s->b, u, vy_float(s->b, VY_F32, 0.5));", ""),
    ("spirv/read/sample.c", None, "s->between[axis] = vy_sub(s->b, u, low);", "s->between[axis] = vy_stop_grad(s->b, vy_sub(s->b, u, low));"),
    ("spirv/read/sample.c", None, "vy_sub(s->b, both, integer(s, 1))", "both"),
    ("spirv/read/sample.c", None, "vy_select(s->b, below, vy_add(s->b, rest, n), rest)", "(void)below, rest"),
    ("spirv/read/sample.c", None, "vy_min(s->b, vy_max(s->b, i, integer(s, 0)), last);\n    case", "i;\n    case"),
    ("spirv/read/sample.c", None, "s->t.sampler ? s->t.sampler : s->t.o->variable", "s->t.o->variable"),
))
SAMPLER_KINDS = ("text/shader/sampler_kinds.comp", (
    ("spirv/read/sample.c", None, "{{0, 1}, {1, 1}, {1, 0}, {0, 0}}", "{{0, 0}, {1, 0}, {1, 1}, {0, 1}}"),
    ("spirv/read/sample.c", None, "s->linear &= s->t.type == VY_F32;", ";"),
    ("spirv/read/sample.c", None, "vy_min(s->b, vy_max(s->b, i, zero), last);\n}", "((void)zero, (void)last, vy_cast(s->b, VY_I32, coordinate));\n}"),
    ("spirv/read/sample.c", None, "read_scalar(s->t.r, offset, axis)", "read_scalar(s->t.r, offset, 1)"),
))
DOMAIN = ("text/shader/domain.comp", (
    ("spirv/read/guards.c", None, "return sense ? make_bound(p, a, b, true, out)", "return sense ? make_bound(p, a, b, false, out)"),
    ("spirv/read/domain.c", None, "e = e.id ? vy_dim_binary(d->w.b, VY_DIM_MIN, e, x) : x;", "e = x;"),
    ("spirv/read/domain.c", None, "if (bound->offset) e = vy_dim_binary(b, VY_DIM_SUB,", "if (bound->offset) e = vy_dim_binary(b, VY_DIM_ADD,"),
))
# What random shaders notice.
RANDOM_SHADERS = ("random_shaders.py", (
    ("spirv/read/composite.c", None, "p->v[c * rows + i] = vy_mul(p->b, part(p, 0, i), y);",
     "p->v[i * columns + c] = vy_mul(p->b, part(p, 0, i), y);"),
    ("spirv/read/operation.c", None, "vy_and(s->b, x, vy_not(s->b, vy_shl(s->b, low, offset)));", "x;"),
    ("spirv/read/variables.c", None, "case SpvOpTypeMatrix: return w->row_major ? size : w->matrix_stride;",
     "case SpvOpTypeMatrix: return w->matrix_stride;"),
))
# Faults in where a shader's host has its parameters.
KINDS = ("text/deterministic/kinds.vyre", (
    ("autodiff/deterministic/deterministic.c", None, "|| !vy_check_kinds(o) ||", "||"),
    ("autodiff/deterministic/kinds.c", None, "vy_strength_of(p, id) < VY_STRENGTH_OWNED);", "true);"),
    ("autodiff/deterministic/kinds.c", None, "const uint32_t group = x->group[id];", "const uint32_t group = 1;"),
    ("autodiff/deterministic/kinds.c", None, "return find_groups(x) && (!x->slots || check_phases(x));", "return find_groups(x);"),
    ("autodiff/deterministic/kinds.c", None, "vy_one_workgroup(p, &x->o->w.s, x->group, group);", "true;"),
    ("autodiff/deterministic/kinds.c", None, "if (x->group[id] == group && vy_adds_floats(p, id)) return false;", ";"),
))
# Faults in which loops are axes of a tape, and in which values stand in an array.
BOUNDS = ("text/grad/control/while_conditions.vyre", (
    ("autodiff/facts/trip_bound.c", None, "l->value.i <= INT32_MAX ?", "true ?"),
))
AXES = ("text/grad/storage/axes.vyre", (
    ("autodiff/storage/tape_axes.c", None, "|| x->writes[i->aux] == loop", ""),
    ("autodiff/storage/tape_axes.c", None, "    x->varies[loop] = VALUE;", ""),
    ("autodiff/storage/tape_axes.c", None, "if (p->insts.data[up].op != VY_OP_LOOP || x->varies[up] & BOUNDS) return false;", ";"),
    ("autodiff/storage/standing.c", None, "if (!is_index(p, store, l)) return false;", ";"),
    ("autodiff/storage/standing.c", None, "*store = *store || i->op != VY_OP_STORE ? NONE : id;", "*store = *store ? *store : id;"),
    ("autodiff/storage/standing.c", None, "if (!x->proved[store] || ", "if ("),
))
PLACES = ("text/shader/places.comp", (
    ("spirv/describe/places.c", None, "d->free = (vy_place_of){d->free.set + 1, 0};", ";"),
    ("ir/build/layout.c", None, "vy_buffer_layout(b, made, &of->layout);", ";"),
    ("ir/build/layout.c", None, "vy_scalar_layout(b, made, &of->layout);", ";"),
    ("spirv/read/places.c", None, "l.within = f->within;", ""),
    ("spirv/read/places.c", None, "l.offset += element % f->dims[k] * f->strides[k];", ""),
))
LAYOUTS = ("text/diag/e0306_layout.vyre", (
    ("ir/check/check_layout.c", None, "|| are_disjoint(p, x, y);", "|| true;"),
))
LAYOUT_CELLS = ("text/diag/e0306_layout_cells.vyre", (
    ("ir/check/check_layout.c", None, "if (!in_cells(a, b, stride)) return false;", "if (!in_cells(a, b, stride)) return true;"),
))
# The addresses themselves, on a device.
PLACED = ("corpus.py", (
    ("spirv/emit/hosted.c", None, "vy_spv_u32(f->m, b->layout.offset / size);", "vy_spv_u32(f->m, 0);"),
    ("spirv/emit/hosted.c", None, "if (step > 1) n = VY_DO(f, SpvOpUDiv", "if (step > 9999) n = VY_DO(f, SpvOpUDiv"),
    ("spirv/emit/hosted.c", None, "if (before && has_strides(b)) {", "if (false) {"),
))
DOMAIN_ONE = ("text/shader/domain_one.comp", (
    ("spirv/read/read.c", None, "own.keep_domain = true;", ""),
))
DOMAIN_RETURNS = ("text/shader/domain_returns.comp", (
    ("spirv/read/guards.c", None, "left &= set_at(p, s, sets, id);", "left = 0;"),
    ("spirv/read/guards.c", None, "return then | (around | ", "return then | ("),
))
DOMAIN_GROUP = ("text/shader/domain_group.comp", (
    ("spirv/read/domain.c", None, "extent_of(d, &of->data[k], of != &d->all)", "extent_of(d, &of->data[k], false)"),
    ("spirv/read/domain.c", None, "if (bound->of_group) return times(b, e, size);", ""),
    ("spirv/read/guards.c", None, "if (effect == VY_CONV) return READ_GROUP_EFFECT;", ""),
))
DOMAIN_NONE = ("text/shader/domain_none.comp", (
    ("spirv/read/domain.c", None, "if (l->index == VY_NUM_GROUPS) return false;", ""),
    ("spirv/read/domain.c", None, "(d->used[axis] || d->w.p->workgroup[axis] > 1)", "d->used[axis]"),
    ("spirv/read/domain.c", None, "(d->used[axis] || d->w.p->workgroup[axis] > 1)", "d->w.p->workgroup[axis] > 1"),
    ("spirv/read/guards.c", None, "(!is_signed && !is_no_difference(p, rest, 0))", "false"),
    ("spirv/read/guards.c", None, "op == VY_OP_IF && !vy_in_then(s, up, id);", "op == VY_OP_IF && false;"),
    ("spirv/read/guards.c", None, "left &= set_at(p, s, sets, id);", ""),
    ("spirv/read/guards.c", None, "i->op == (sense ? VY_OP_AND : VY_OP_OR)", "(i->op == VY_OP_AND || i->op == VY_OP_OR)"),
))
# Vectors of the text, as scalars.
VECTORS = ("text/parse/vectors.vyre", (
    ("ir/text/made_type.c", None, "*which |= (uint8_t)((at - names[i]) << 2 * k);", "*which |= (uint8_t)(k << 2 * k);"),
    ("ir/text/sema_scope.c", None, "f->func->slot_count += vy_scalars(f, d->type);", "f->func->slot_count++;"),
    ("ir/text/sema_member.c", None, "vy_component(inner, vy_component(outer, k))", "vy_component(outer, vy_component(inner, k))"),
    ("ir/text/lower_expr.c", None, "n == 1 ? first : x[k], y[part_of(m, k)]", "x[k], y[part_of(m, k)]"),
    ("ir/text/lower_expr.c", None, "v = e->op == TK_EQ ? vy_and(l->b, v, also) : vy_or(l->b, v, also);", "v = vy_and(l->b, v, also);"),
    ("ir/text/lower_place.c", None, "vy_lower_operator(l, s->op, n, old, m, v);", "vy_lower_operator(l, s->op, n, old, 1, v);"),
    ("ir/text/lower_member.c", None, "whole[vy_component(m->which, k)] = some[k];", "whole[k] = some[k];"),
    ("ir/build/geometry.c", None, "i = (k + 1) % 3, j = (k + 2) % 3", "i = (k + 2) % 3, j = (k + 1) % 3"),
    ("ir/build/geometry.c", None, "dot(b, n, reference, incident)", "dot(b, n, reference, x)"),
    ("ir/build/geometry.c", None, "vy_add(b, vy_mul(b, eta, d), root)", "vy_sub(b, vy_mul(b, eta, d), root)"),
))
DECREMENT = ("text/diag/vectors.test", (
    ("ir/text/parse_stmt.c", None, "inner->column == e->column + 1", "true"),
))
ELEMENTS = ("text/parse/vectors_elements.vyre", (
    ("ir/text/lower_member.c", None, "    take_zero(l, m, part);\n", ""),
    ("ir/text/lower_member.c", None, "vy_select(l->b, here, v[k * m->size + s], part[s])", "vy_select(l->b, here, v[s], part[s])"),
    ("ir/text/lower_member.c", None, "old[s] = vy_select(l->b, here, changed[s], old[s]);", "old[s] = changed[s];"),
    ("ir/text/lower_member.c", None, "    else\n        take_zero(l, m, v);", ""),
    ("ir/text/lower_place.c", None, "if (of != p->e) vy_take_part(l, p->e->u.member.steps, p->path, all);", ""),
    ("ir/text/parse_stmt.c", None, "TK_ADD ? TK_SET_ADD : TK_SET_SUB;", "TK_ADD ? TK_SET_ADD : TK_SET_ADD;"),
    ("ir/text/parse_expr.c", None, "return at < f->end && *at == ';';", "return true;"),
))
BUFFERS = ("text/parse/vectors_buffers.vyre", (
    ("ir/text/lower_element.c", None, "number(l, vy_component(m->which, k))", "number(l, k)"),
    ("ir/text/lower_element.c", None, "at->n ? among(l, at, index) : index", "index"),
    ("ir/text/lower_element.c", None, "vy_value which = number(l, 4);", "vy_value which = number(l, 0);"),
    ("ir/text/lower_place.c", None, "    if (s->op != TK_SET) vy_place_read(l, p, is);\n", ""),
    ("ir/text/lower_element.c", None, "    if (at.n) at.index[at.rank] = at.component[0];\n", ""),
    ("ir/text/lower_dim.c", None, "vy_dim_const(l->b, column->size[k])", "vy_dim_const(l->b, 2)"),
))
MATRICES = ("text/parse/matrices.vyre", (
    ("ir/build/matrix.c", None, "vy_mul(b, x[k * rows + i], y[c * inner + k])", "vy_mul(b, x[i * inner + k], y[c * inner + k])"),
    ("ir/build/matrix.c", None, "v[i * columns + c] = x[c * rows + i];", "v[i * columns + c] = x[i * columns + c];"),
    ("ir/build/matrix.c", None, "negative = !negative;", ""),
    ("ir/build/matrix.c", None, "minor(b, x, n, 1u << j, 1u << i)", "minor(b, x, n, 1u << i, 1u << j)"),
    ("ir/text/lower_matrix.c", None, "const bool row = vy_is_vector(l->f, a);", "const bool row = false;"),
    ("ir/text/lower_matrix.c", None, "cast(l, to, of[j * r + i])", "cast(l, to, of[j * rows + i])"),
    ("ir/text/lower_matrix.c", None, "vy_float(l->b, to, 1);", "vy_zero(l->b, to);"),
    ("ir/text/lower_place.c", None, "if (vy_is_product(l->f, s->op, s->target->type, s->value->type))", "if (false)"),
))
STRUCTS = ("text/parse/structs.vyre", (
    ("ir/text/made_type.c", None, "while (d->next && d->next->at <= *k) d = d->next;", ""),
    ("ir/text/sema_made.c", None, "if (o->of == m->of && o->parts == m->parts) return o->same;", ""),
    ("ir/text/sema_made.c", None, "        d->at = m->scalars;\n", "        d->at = m->parts;\n"),
    ("ir/text/sema_member.c", None, "        a->count = d->at;\n", ""),
    ("ir/text/sema_member.c", None, "    m->size = vy_scalars(f, of->of);\n", "    m->size = 1;\n"),
    ("ir/text/lower_member.c", None, "memmove(v, v + m->at, m->size * sizeof *v);", "memmove(v, v, m->size * sizeof *v);"),
    ("ir/text/lower_member.c", None, "vy_put_part(l, m->next, path + 1, whole + m->at, n, part);", "vy_put_part(l, m->next, path + 1, whole, n, part);"),
    ("ir/text/lower_member.c", None, "vy_put_part(l, m->next, path + 1, changed, n, part);", "vy_put_part(l, m->next, path, changed, n, part);"),
    ("ir/text/parse_type.c", None, "while (n-- > 0) *where = array_type(f, *where, counts[n]);", "for (uint32_t k = 0; k < n; k++) *where = array_type(f, *where, counts[k]);"),
    ("ir/text/room.c", None, "    r->used += size;\n", "    r->used += 4;\n"),
))
INOUT = ("text/parse/inout.vyre", (
    ("ir/text/lower_call.c", None, "if (p->cls == VY_INOUT) vy_place_read(l, at, v);", ""),
    ("ir/text/lower_call.c", None, "if (p->cls == VY_INOUT) vy_place_read(l, at, v);", "vy_place_read(l, at, v);"),
    ("ir/text/lower_call.c", None, "        vy_place_write(l, at, v);\n", ""),
    ("ir/text/lower_call.c", None, "*tail = bind_place(l, inner, p, a), tail = &(*tail)->next;", "*tail = bind_place(l, inner, p, a), (*tail)->next = places == *tail ? NULL : places, places = *tail, tail = &places;"),
    ("ir/text/lower_place.c", None, "        vy_lower_path(l, e, p->path);", "vy_lower_path(l, e, p->path), vy_lower_path(l, e, p->path);"),
    ("ir/text/sema_place.c", None, "        vy_note_assigned(f, f->loop, d);\n", "        (void)0;\n"),
))
INOUT_REFUSED = ("text/diag/inout.test", (
    ("ir/text/sema_place.c", None, "if (!f->failed && a->kind == EX_MEMBER) vy_sema_target(f, a);", ""),
    ("ir/text/sema_place.c", None, "d->written || f->loop) return;", "d->written) return;"),
    ("ir/text/sema_place.c", None, "else if (f->reductions)", "else if (false)"),
    ("ir/text/sema_place.c", None, "if (!f->failed && t != p->type)", "if (false)"),
    ("ir/text/sema_place.c", None, "if (d && d->kind == DK_VAR) d->written = true;", ""),
))
OVERLOADS = ("text/parse/overloads.vyre", (
    ("ir/text/sema_overload.c", None, "need == VY_I32 ? 0 : need == VY_F32 ? 1 : 3", "0"),
    ("ir/text/sema_overload.c", None, " || p->type != q->type)", ")"),
    ("ir/text/sema_overload.c", None, "if (fn->param_count != e->count) return false;", "if (fn->param_count > e->count) return false;"),
    ("ir/text/again.c", None, "if (d->func->stays) number(f, d);", ";"),
))
OVERLOADS_REFUSED = ("text/diag/overloads.test", (
    ("ir/text/sema_overload.c", None, "        if (x > y) return false;\n", "        if (x > y) continue;\n"),
    ("ir/text/sema_overload.c", None, "if (d != best && fits(e, d->func)", "if (false && fits(e, d->func)"),
    ("ir/text/sema_overload.c", None, "if (buffer && rank(p) != rank(q)) return false;", "if (buffer && p->rank != q->rank + 1) return false;"),
    ("ir/text/sema_overload.c", None, "return p->rank ? p->rank : 1;", "return p->rank + 1;"),
))
GENERICS = ("text/parse/generics.vyre", (
    ("ir/text/lex.c", None, "f->tok.type = f->tok.name->stands_for;", "f->tok.type = VY_F32;"),
    ("ir/text/generic.c", None, "if (!memcmp(i->generic->types, types, fn->generic->count)) return i;", "return i;"),
    ("ir/text/generic.c", None, "        types[k] = (uint8_t)t;\n", ""),
    ("ir/text/sema_overload.c", None, "    if (p->open) return 2;\n", "    if (p->open) return 0;\n"),
    ("ir/text/sema_overload.c", None, "if (!p->open != !q->open || ", "if ("),
))
GENERICS_REFUSED = ("text/diag/generics.test", (
    ("ir/text/generic.c", None, "        if (types[k] && types[k] != t) return a;\n", ""),
    ("ir/text/generic.c", None, "if (n < sizeof d->text && g->line)", "if (false)"),
    ("ir/text/parse_generic.c", None, "        g->names[k]->stands_for = VY_VOID;\n", ""),
    ("ir/text/parse_generic.c", None, "if (!is_taken(fn, g->names[k]))", "if (false)"),
))
LIBRARY = ("text/parse/library.vyre", (
    ("ir/build/numbers.c", None, "vy_cast(b, VY_F32, x[1].v[0])", "vy_cast(b, VY_F32, x[0].v[0])"),
    ("ir/build/numbers.c", None, "integer(b, least + digits)", "integer(b, least)"),
    ("ir/build/numbers.c", None, "vy_sub(b, e, integer(b, 149)), e)", "e, e)"),
    ("ir/build/numbers.c", None, "vy_sub(b, k, vy_cast(b, VY_I32, over))", "k"),
    ("ir/build/numbers.c", None, "divide_if(b, &s, &e, 0x1p100, 0x1p150, 150);", "divide_if(b, &s, &e, 0x1p150, 0x1p150, 150);"),
    ("ir/build/numbers.c", None, "for (int k = 0; k < 2; k++) {", "for (int k = 0; k < 1; k++) {"),
    ("ir/build/numbers.c", None, "vy_and(b, finite, vy_lt(b, number(b, a, 0), size))", "finite"),
    ("ir/build/numbers.c", None, "by < bits; by *= 2", "by < 32; by *= 2"),
    ("ir/text/lower_library.c", None, "v[r * n + k] = given[r];", "v[k * results + r] = given[r];"),
    ("ir/text/sema_library.c", None, "if (n > c->n) c->n = n;", "c->n = n;"),
))
PHILOX = ("text/parse/philox.vyre", (
    ("ir/build/philox.c", None, "enum { ROUNDS = 10 };", "enum { ROUNDS = 9 };"),
    ("ir/build/philox.c", None, "low_a = low(b, a);", "low_a = a;"),
    ("ir/build/philox.c", None, "k < x[1].n ? x[1].v[k] : word(b, 0)", "x[1].v[0]"),
    ("ir/build/philox.c", None, "vy_build_random_uniform(b, &(vy_taken){&bits[1], 1}, &phase);", "vy_build_random_uniform(b, &(vy_taken){&bits[0], 1}, &phase);"),
    ("ir/build/philox.c", None, "t == VY_U64 ? 11 : 8;", "t == VY_U64 ? 11 : 7;"),
))
QUATERNIONS = ("text/parse/quaternions.vyre", (
    ("ir/build/quaternion.c", None, "v[k] = vy_add(b, parts, cross(b, p, q, k));", "v[k] = vy_sub(b, parts, cross(b, p, q, k));"),
    ("ir/build/quaternion.c", None, "twice(b, vy_sub(b, both, turn)); // column", "twice(b, vy_add(b, both, turn)); // column"),
    ("ir/build/quaternion.c", None, "vy_select(b, back, vy_neg(b, n), n)", "n"),
    ("ir/build/quaternion.c", None, "number(b, t, k * k)", "number(b, t, k)"),
    ("ir/build/quaternion.c", None, "VY_F64 ? 8 : 4", "VY_F64 ? 4 : 4"),
))
LIBRARY_GRAD = ("text/grad/types/library.vyre", (
    ("ir/build/numbers.c", None, "v[1] = vy_cast(b, VY_I32, vy_cast(b, VY_F32, is));", "v[1] = is;"),
    ("ir/eval/eval_path.c", None, "v.f = trunc(a.f / b.f);", "v.f = 0;"),
))
STRUCTS_BUFFERS = ("text/parse/structs_buffers.vyre", (
    ("ir/text/columns.c", None, "<= *c; d = d->next) *c -= n;", "< *c; d = d->next) *c -= n;"),
    ("ir/text/columns.c", None, "column.size[column.axes++] = m->parts;", "column.size[column.axes++] = vy_scalars(f, t);"),
    ("ir/text/lower_element.c", None, "at->column += vy_columns(l->f, d->type);", "at->column++;"),
    ("ir/text/lower_element.c", None, "column += vy_columns(w->l->f, d->type), d = d->next)", "column++, d = d->next)"),
    ("ir/text/lower_element.c", None, "            each(w, m->of, column, rank + 1);", "            each(w, m->of, column, rank);"),
    ("ir/text/lower_call.c", None, "inner->frame[p->slot + c] = l->frame[given->slot + c];", "inner->frame[p->slot + c] = l->frame[given->slot];"),
    ("ir/text/lower_pipe.c", None, "arg.buffer.id = l->frame[d->slot + c];", "arg.buffer.id = l->frame[d->slot];"),
    ("tools/command/fields.c", None, "&& name[n] == '.';", ";"),
))
STD430 = ("text/parse/structs_hosted.vyre", (
    ("ir/text/std430.c", None, "(m->parts + 1) / 2 * 2 * e.size", "m->parts * e.size"),
    ("ir/text/std430.c", None, "all.size = round_up(all.size, all.align);", ""),
    ("ir/text/std430.c", None, "end = start + e.size;", "end = start + round_up(e.size, e.align);"),
))
SWITCH_MANY = ("text/grad/types/many_cases.test", (
    ("ir/text/lower_switch.c", None, "while (c->op) c = c->next; // the default", ""),
    ("ir/text/lower_switch.c", None, "c = lower_half(l, c, is + n / 2, n - n / 2);", "c = lower_half(l, c, is, n - n / 2);"),
))
SWITCH = ("text/parse/switch.vyre", (
    ("ir/text/lower_switch.c", None, "any.id ? vy_or(l->b, any, is) : is;", "is;"),
    ("ir/text/lower_switch.c", None, "        if (c->op) other = c;\n", ""),
    ("ir/text/lower_switch.c", None, "    l->switch_block = outer;\n", ""),
    ("ir/text/lower_switch.c", None, "    l->switch_block = vy_block_begin(l->b);", "    vy_block_begin(l->b);"),
    ("ir/text/lower_stmt.c", None, "s->kind == ST_CONTINUE ? l->do_block", "s->kind == ST_CONTINUE ? 0"),
    ("ir/text/lower_stmt.c", None, "    l->do_block = 0;\n", ""),
    ("ir/text/lower_stmt.c", None, "    l->do_block = outer;\n", ""),
    ("ir/text/lower_stmt.c", None, "vy_while_test(l->b, vy_bool(l->b, true));", "vy_while_test(l->b, vy_lower_expr(l, s->value));"),
    ("ir/text/sema_stmt.c", None, "    f->in_switch = loop->outer_switch;\n", ""),
    ("ir/text/sema_stmt.c", None, "    f->in_switch = NULL;\n    return loop;", "    return loop;"),
    ("ir/text/sema_switch.c", None, "if (last && last->kind == ST_BREAK)", "if (last)"),
    ("ir/text/sema_switch.c", None, "    s->leaves &= !s->op;\n", ""),
    ("ir/text/parse_switch.c", None, "next.kind == TK_LBRACKET || next.kind == TK_SEMICOLON;", "false;"),
))
SWITCH_REFUSED = ("text/diag/switch.test", (
    ("ir/text/sema_switch.c", None, "    s->ends &= !s->op;\n", ""),
    ("ir/text/sema_switch.c", None, "|| c->body->ends) return;", "|| c->body->body) return;"),
    ("ir/text/sema_switch.c", None, "if (n > 1) qsort(labels, n, sizeof *labels, by_value);", "(void)by_value;"),
    ("ir/text/sema_stmt.c", None, "const bool once = s->body->ends && !s->loop->continues;", "const bool once = s->body->ends;"),
    ("ir/text/sema_stmt.c", None, "s->ends = !s->loop->breaks && (once || forever);", "s->ends = once || forever;"),
))
VECTORS_ZERO = ("text/grad/types/vectors.vyre", (
    ("ir/build/geometry.c", None, "v[k] = vy_select(b, zero, vy_stop_grad(b, v[k]), v[k]);", "(void)zero;"),
))
MADE = {plant: made for made, plants in ((several.make, SEVERAL), (rounds.make, ROUNDS), (strides.make, STRIDES)) for plant in plants}
SCRIPTS = (AGAIN, INOUT, INOUT_REFUSED, SWITCH, SWITCH_REFUSED, OVERLOADS, OVERLOADS_REFUSED, GENERICS, GENERICS_REFUSED, VECTORS, ELEMENTS, DECREMENT, STRUCTS, BUFFERS, MATRICES, VECTORS_ZERO, SENSES, ARITHMETIC, FLOW, CHOICE, LANES, LANES_MORE, TYPES, ALIAS, ALIAS_WORDS, PACK, TILES, ENDS, STORES, RULES, CONTROL, STATES, TURNS, WHILE_END, COUNTED, RECOUNTED, OWN_SIZES, SEGMENTS, EQUAL, UNDO, DEAD_STORE, OWN_ELEMENTS, ROTATION, FUSED, SHARED_ARMS,
           IMPLIED, OWNED_LOADS, ENDS_ALIKE, COARSENED, NESTED, LENGTH, THIRD, EXPLAINED, LONG, SHAPES, BEGINS, LOWERED, FLAT, HOST, FOLDER, OPTIONS, RESUMED)
OF_TEST = {plant: name for name, plants in UNITS.items() for plant in plants}
SCRIPTS += (LIBRARY, PHILOX, QUATERNIONS, LIBRARY_GRAD, STRUCTS_BUFFERS, STD430)
SCRIPTS += (APART, PHASES, DIVERGENT)  # atomic_min and atomic_max
SCRIPTS += (PLAIN, NAMED, DISPATCHED, EXACT_AGAIN, LEAST)  # @derive_as
OTHERS = ("text/deterministic/others.vyre", (
    ("autodiff/deterministic/deterministic_copy.c", None, "if (!name || at == m->pipelines.count) return copy_of(m);", "return copy_of(m);"),
))
SCRIPTS += (OTHERS, LIMIT, OLD_OWN, LIFETIMES, READ_AHEAD, BEGIN_ORDER)
COUNTING_LAST = ("text/opt/count_do_loops.vyre", (
    ("ir/pass/scalar/count_loops.c", None, "if (r.of->last) r.to = vy_max(b, r.to, vy_add(b, r.init, one(x, r.type)));", ""),
    ("ir/pass/scalar/count_loops.c", None, "if (r->of->moved) later.init", "if (true) later.init"),
    ("ir/pass/scalar/count_loops.c", None, "(!c->last && c->compare == id) ? loop", "c->compare == id ? loop"),
    ("ir/pass/scalar/find_counter.c", None, "vy_greatest(c->type).u - by);", "vy_greatest(c->type).u);"),
    ("ir/pass/scalar/find_counter.c", None, "no == condition ? 0 : truth", "no == condition ? 1 : truth"),
))
SCRIPTS += (COUNTING_LAST, SWITCH_MANY)
COUNTING = ("text/opt/count_loops.vyre", (
    ("ir/pass/scalar/find_counter.c", None, "c->down = by.down != negative;", "c->down = by.down;"),
    ("ir/pass/scalar/find_counter.c", None, "const uint64_t room = by ? by - !c->reaches : 0;", "const uint64_t room = 0;"),
    ("ir/pass/scalar/find_counter.c", None, "return least == 0 || (n &&", "return true || (n &&"),
    ("ir/pass/scalar/find_counter.c", None, "return same_change(&a, &b) ? a : (change){0};", "return a;"),
    ("ir/pass/scalar/find_counter.c", None, "return k ? k->u != 0 : is_positive(", "return k ? k->u != 0 : true || is_positive("),
    ("ir/pass/scalar/find_counter.c", None, "effect != VY_PURE && effect != VY_READ) return false;", "effect == VY_CTRL) return false;"),
    ("ir/pass/scalar/find_counter.c", None, "c->differs = op == VY_OP_NE || op == VY_OP_EQ;", "c->differs = false;"),
    ("ir/pass/scalar/count_loops.c", None, "if (!r->of->reaches) return r->bound;", "return r->bound;"),
    ("ir/pass/scalar/count_loops.c", None, "r.from = r.of->reaches ? r.bound : vy_add(", "r.from = vy_add("),
    ("ir/pass/scalar/count_loops.c", None, "&& !vy_exits(p, loop);", ";"),
    ("ir/pass/scalar/count_loops.c", None, "return vy_max(b, r->init, r->to);", "return r->to;"),
))
SCRIPTS += (KINDS, BOUNDS, AXES, PLACES, LAYOUTS, LAYOUT_CELLS, PLACED, DOMAIN, DOMAIN_ONE, DOMAIN_RETURNS, DOMAIN_GROUP, DOMAIN_NONE, COUNTING)
SCRIPTS += (RANDOM_SHADERS, IMAGE, IMAGE_FORMATS, IMAGE_KINDS, SAMPLER, SAMPLER_KINDS)
REDUNDANT = ("text/grad/rewrite/redundant_stores.vyre", (
    ("ir/check/redundant.c", None, "r->loads[k] = b->cls != VY_IN && r->racy[memory_of(r->p, k)];", "r->loads[k] = b->cls != VY_IN;"),
    ("ir/check/redundant.c", None, "is_own(&r->p->buffers.data[i->aux], axis))\n            continue;", "false)\n            continue;"),
    ("ir/check/redundant.c", None, "if (x->same) x->same |= groups[id].same;", ""),
    ("ir/check/check_uniform.c", None, "return axis < 2 ? axis : 2;", "return over;"),
    ("autodiff/rewrite/redundant.c", None, "vy_builtin_value(b, of, k % VY_GROUP_AXES)", "vy_builtin_value(b, of, 0)"),
    ("ir/eval/eval_shadow.c", None, "axes >> (VY_GROUP_AXES + k) & 1", "axes >> k & 1"),
))
UNEQUAL = ("text/diag/e0313_unequal.vyre", (
    ("ir/check/redundant.c", None, "        grew = true;\n", ""),
    ("ir/check/redundant.c", None, "if (!r->inside[id] && !vy_op_is_atomic", "if (!vy_op_is_atomic"),
    ("ir/check/race.c", None, "by[id].store || along[id].axes ||", "by[id].store ||"),
))
READ_TOO = ("text/diag/e0313_read.vyre", (
    ("ir/check/redundant.c", None, "r->racy[m] |= f.phase[id].loads >> (number[m] - 1) & 1;", ""),
))
ALIKE = ("text/diag/e0313_alike.vyre", (
    ("ir/check/redundant.c", None, "|| groups[id].same != groups[id].axes)", ")"),
    ("ir/check/check_uniform.c", None, "case VY_WID: return l->axis + 3 == axis;", "case VY_WID: return false;"),
))
LAUNCHED = ("text/shader/launch.comp", (
    ("spirv/read/launch.c", None, "l->index = VY_WID;", ";"),
    ("spirv/read/launch.c", None, "size[l->axis] != 1) continue;", "size[l->axis] == 0) continue;"),
    ("spirv/read/launch.c", None, "&& vy_pass_implied(p, &c);", ";"),
    ("ir/facts/value_range.c", None, "? cast(v, id) : whole;", "? whole : whole;"),
))
OPEN_LENGTH = ("text/grad/gather/open_length.vyre", (
    ("autodiff/gather/gather_site.c", None, "if (k || x->flat ||", "if (true || x->flat ||"),
    ("autodiff/stages/stages_groups.c", None, "c->length[k] = (uint32_t)p->dims", "c->length[k] = 1 + 0 * (uint32_t)p->dims"),
    ("autodiff/stages/stages_groups.c", None, "if (v == p->overs.count) return true;", "if (v == p->overs.count || p->overs.count > 1) return true;"),
))
STRIDED = ("text/shader/strides.comp", (
    ("autodiff/gather/gather.c", None, "iterations[count] = gather_else(g, holds);", "iterations[count] = gather_either(g, holds, (vy_dim){0});"),
    ("autodiff/gather/gather_sums.c", None, "vy_dim_number(w->b, x->rows->axis[k].stride);", "vy_dim_number(w->b, x->rows->axis[k].extent);"),
    ("autodiff/gather/gather_assume.c", None, "r->holds = r->holds.id ? gather_node(g, VY_DIM_MIN, r->holds, fits) : fits;", "r->holds = fits;"),
    ("autodiff/gather/gather_assume.c", None, "r->holds = r->holds.id ? gather_node(g, VY_DIM_MIN, r->holds, fits) : fits;",
     "if (!r->holds.id) r->holds = fits;"),
    ("autodiff/gather/gather_assume.c", None, "if (natural && s->whole[axis]) s->whole[axis] = is_in_row(s, n, v, axis - 1, axis);", ""),
    ("autodiff/gather/gather_assume.c", None, "gather_number(g, k ? 1 :", "gather_number(g, k ? 2 :"),
    ("autodiff/gather/gather_assume.c", None, "s->reached[axis] ? isl_set_union(s->reached[axis], range) : range;", "(isl_set_free(s->reached[axis]), range);"),
    ("autodiff/gather/gather_assume.c", None, "if (all_in_row(s, k, n)) return k;", ""),
    ("autodiff/gather/gather_assume.c", None, "if (last_scalar(s, k) < last_scalar(s, next)) next = k;", ""),
    ("autodiff/affine/flat_terms.c", None, "if (vy_row_of(r, &more) >= 0) t->term[k] = more;", ""),
    ("autodiff/gather/gather_either.c", None, "            all = all.id ?", "            all = false ?"),
    ("autodiff/gather/gather_assume.c", None, "    s->open |= k > 0;\n", ""),
    ("autodiff/gather/gather_either.c", None, "given |= vy_condition_same(g->assume", "given |= g->assume[k] || vy_condition_same(g->assume"),
    ("autodiff/gather/gather_either.c", None, "if (x->condition && (!r->holds.id ||", "if (x->condition && (r->holds.id &&"),
    ("autodiff/gather/gather_either.c", None, "for (uint32_t k = 0; r && k < r->axes; k++)", "for (uint32_t k = 1; r && k < r->axes; k++)"),
    ("autodiff/core/conditions.c", None, "any |= vy_condition_same(", "any |= m->conditions.data[k] || vy_condition_same("),
    ("autodiff/core/conditions.c", None, "side(arena, swapped ? op + 2 : text)", "side(arena, text)"),
    ("spirv/describe/describe.c", None, "vy_describe_binary(d, VY_EXPR_SUB, least, most)", "vy_describe_binary(d, VY_EXPR_SUB, most, least)"),
    ("ir/eval/eval_shape.c", None, "if (least <= most) continue;", "if (least <= most || k) continue;"),
))
ASSUMED = ("text/diag/e0717_assume.vyre", (
    ("ir/text/lower_head.c", None, "e->op == TK_LE ? a : b, e->op == TK_LE ? b : a", "a, b"),
    ("autodiff/reverse/declare.c", None, "i < r->p->assumes.count && !r->failed", "i < r->p->assumes.count && r->failed"),
    ("ir/build/rebuild.c", None, "COPY_VEC(&p->assumes, &old->assumes) &&", ""),
))
SCRIPTS += (STRIDED, ASSUMED)
PADDING = ("text/grad/subgroup/padding.vyre", (
    ("autodiff/rewrite/explicit_padding.c", None, "|| !is_alike(u, id);", ";"),
    ("autodiff/rewrite/explicit_padding.c", None, "(cls != VY_LOCAL && (cls != VY_IN || i->op != VY_OP_LOAD)) ||", ""),
    ("autodiff/rewrite/explicit_padding.c", None, "!= VY_IN) u->raw[id] =", ">= VY_IN) u->raw[id] ="),
    ("autodiff/rewrite/explicit_padding.c", None, "at; at = u->w.s.parent[at]) alike &=", "false; at = u->w.s.parent[at]) alike &="),
    ("autodiff/rewrite/explicit_padding.c", None, "!vy_leaf_differs(p, index)", "true"),
))
HOISTED = ("text/opt/licm_unchecked.vyre", (
    ("ir/pass/scalar/licm.c", None, "(l->unchecked && !vy_is", "(false && !vy_is"),
    ("ir/pass/scalar/licm.c", None, "(&l->prover, load, loop))", "(&l->prover, load, load))"),
))
SUMS_END = ("text/deterministic/shared_range.vyre", (
    ("autodiff/deterministic/exact_sum.c", None, "word_at(r, vy_min(b, k, u32(b, r->words)));", "word_at(r, k);"),
))
SCRIPTS += (PADDING, HOISTED, SUMS_END)
SCRIPTS += (REDUNDANT, UNEQUAL, READ_TOO, ALIKE, LAUNCHED, OPEN_LENGTH)
COMMANDS = tuple(plant for _, plants in SCRIPTS for plant in plants)
ALL = PLANTS + SEVERAL + DIRECTED + COMMANDS + ROUNDS + STRIDES + tuple(OF_TEST)


def planted(plant):
    """The changed file's text with the fault in it; None: the text to replace is not in the file."""
    changed, _, old, new = plant
    with open(os.path.join(ROOT, changed), encoding="utf-8") as f:
        text = f.read()
    return text.replace(old, new, 1) if old in text else None


def link(folder, plant, o, target):
    """Path of a wrong TARGET, or None with a reason: linked as ninja does, the changed file first."""
    changed, text = plant[0], planted(plant)
    if text is None:
        return None, "its text is not found"
    source, wrong = os.path.join(folder, os.path.basename(changed)), os.path.join(folder, "wrong.o")
    with open(source, "w", encoding="utf-8") as f:
        f.write(text)
    out = os.path.join(folder, target)
    os.makedirs(os.path.dirname(out))
    lines = subprocess.run(["ninja", "-C", o.build, "-t", "commands", target], capture_output=True, text=True)
    line = (lines.stdout.splitlines() or [""])[-1].replace("-o %s " % target, "-o %s %s " % (out, wrong), 1)
    line = line.replace(" tools/vyre-grad.p/%s.o " % changed[6:].replace("/", "_"), " ")  # of the command itself: in no library
    for command in (["cc", "-std=gnu11", "-O1", "-w", "-c", source, "-o", wrong, "-I" + ROOT, "-I" + o.build,
                     "-I" + os.path.join(ROOT, os.path.dirname(changed))], ["sh", "-c", line]):
        done = subprocess.run(command, cwd=o.build, capture_output=True, text=True)
        if done.returncode:
            return None, done.stderr[:500]
    return (out, "") if os.path.exists(out) else (None, "%s has no %s" % (o.build, target))


def script_path(name):
    """Where the script of that name lies; names are unique."""
    return glob.glob(os.path.join(ROOT, "tests", "scripts", "*", name))[0]


def noticed_by_script(folder, plant, o):
    """The first message of its script, or of its text test; None: it passes."""
    script = next(name for name, plants in SCRIPTS if plant in plants)
    if script.startswith("text/"):
        os.symlink(os.path.join(o.build, "meson-info"), os.path.join(folder, "meson-info"))
        done = subprocess.run([os.path.join(ROOT, "tests", "run"), "--build", folder, os.path.join(ROOT, "tests", script)],
                              capture_output=True, text=True)
        return done.stdout.splitlines()[-1] if done.returncode else None
    command = os.path.join(o.build if plant in THIRD[1] else folder, "tools", "vyre-grad")
    done = subprocess.run([sys.executable, script_path(script)], capture_output=True, text=True, cwd=folder,
                          env=dict(os.environ, SRC=ROOT, BUILD=folder, VYRE_GRAD=command,
                                   VYRE_SEED="1", VYRE_FRESH_SEED="1", VYRE_SHARE="3",
                                   VYRE_COUNT="3000" if plant in STORES[1] else "150"))
    if "Traceback (most recent call last)" in done.stderr:  # which is no finding
        print("   %s broke: %s" % (script, done.stderr.splitlines()[-1]))
        return None
    lines = done.stdout.splitlines() + done.stderr.splitlines()[-1:]
    return next((line for line in lines if "<<<" in line), lines[:2][-1])[:150] if done.returncode else None


def build(folder, plant, o):
    """Path of the wrong gradcheck_file, or None with a reason."""
    changed, compiled = plant[:2]
    text = planted(plant)
    if text is None:
        return None, "its text is not found"
    os.makedirs(os.path.join(folder, os.path.dirname(changed)), exist_ok=True)
    with open(os.path.join(folder, changed), "w", encoding="utf-8") as f:
        f.write(text)  # includes are written from the top: a changed header precedes the tree's
    out = os.path.join(folder, "tests", "gradcheck_file")
    os.makedirs(os.path.dirname(out), exist_ok=True)
    libs = subprocess.run(["pkg-config", "--libs", "SPIRV-Tools"], capture_output=True,
                          text=True).stdout
    done = subprocess.run(
        ["cc", "-std=gnu11", "-O1", "-ffp-contract=off", "-I" + folder, "-I" + ROOT, "-I" + o.build, "-w",
         os.path.join(ROOT, "tests", "unit", "autodiff", "gradcheck_file.c"),
         os.path.join(ROOT, compiled) if compiled else os.path.join(folder, changed), os.path.join(o.build, "libvyre.a"), "-lm", "-lisl", "-lgmp", "-lcmocka"]
        + shlex.split(libs) + ["-lstdc++", "-o", out], capture_output=True, text=True)
    return (out, "") if done.returncode == 0 else (None, done.stderr[:500])


def noticed_by_test(path):
    """The first message of the unit test; None: it passes."""
    done = subprocess.run([path], capture_output=True, text=True)
    lines = [line for line in (done.stderr + done.stdout).splitlines() if "FAILED" in line or ": error" in line]
    return (lines[0][:150] if lines else "a crash") if done.returncode else None


def fails_anyway(o, folder, program, seed):
    """Whether the program fails without the fault, too."""
    return oracle.Bench(o.build, folder).interpreter([program], [seed])[0]


def noticed(check, folder):
    """Which of directed.py's programs fails first, and how; None: all pass."""
    names = []
    for k, text in enumerate(directed.PROGRAMS):
        names.append(os.path.join(folder, "directed%02d.vyre" % k))
        with open(names[-1], "w", encoding="utf-8") as f:
            f.write(text)
    with subprocess.Popen([check, "--seeds", "1", *names], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True) as run:
        for k, line in enumerate(run.stdout):
            if ": ok" not in line:
                run.kill()
                return "directed program %d: %s" % (k, line.partition(": ")[2].strip()[:90])
    return "a crash" if run.returncode else None


def noticed_by_random(check, folder, plant, o):
    """How the first random program fails that passes without the fault, and how many it took."""
    made = MADE.get(plant, generate.make)
    bench = oracle.Bench(o.build, folder)
    bench.check = check
    for seed in range(o.seed, o.seed + o.count, oracle.BATCH):
        seeds = range(seed, seed + oracle.BATCH)
        for s, verdict in zip(seeds, bench.interpreter([made(s) for s in seeds], seeds)):
            if verdict and verdict[0] not in ("refused", "invalid") and not fails_anyway(o, folder, made(s), s):
                return "%s after %d programs" % (verdict[0], s - o.seed + 1)
    return None


def look(plant, folder, o):
    """(what notices the fault or None, what to print in the latter case)"""
    if plant in OF_TEST:
        path, why = link(folder, plant, o, "tests/unit_" + OF_TEST[plant])
        return path and noticed_by_test(path), why or "NOT NOTICED"
    if plant in COMMANDS:
        path, why = build(folder, plant, o) if plant in THIRD[1] else link(folder, plant, o, "tools/vyre-grad")
        return path and noticed_by_script(folder, plant, o), why or "NOT NOTICED"
    path, why = build(folder, plant, o)
    if plant in DIRECTED:
        return path and noticed(path, folder), why or "NOT NOTICED"
    return path and noticed_by_random(path, folder, plant, o), why or "NOT NOTICED in %d programs" % o.count


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.environ.get("BUILD") or os.path.join(ROOT, "build"))
    parser.add_argument("--count", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int, default=0, metavar="NUMBER")
    parser.add_argument("--units", action="store_true", help="only those that a unit test looks for: a minute")
    parser.add_argument("--directed", action="store_true", help="only the faults in how sums are made: minutes")
    parser.add_argument("--rounds", action="store_true", help="only those in what loops do iteration by iteration: minutes")
    parser.add_argument("--command", action="store_true", help="only those that a script looks for with the command: ten minutes")
    o = parser.parse_args()
    o.build = os.path.abspath(o.build)
    missed = 0
    wrong = None
    if o.directed or not (o.only or o.command or o.rounds or o.units):
        with tempfile.TemporaryDirectory(prefix="vyre-plant-") as folder:
            wrong = noticed(os.path.join(o.build, "tests", "gradcheck_file"), folder)
    if wrong:
        print("without a fault, too: " + wrong)
        return 1
    for n, plant in enumerate(ALL):
        if o.only not in (0, n + 1) or (o.directed and plant not in DIRECTED) or (o.command and plant not in COMMANDS) or (
                o.rounds and plant not in ROUNDS + STRIDES) or (o.units and plant not in OF_TEST):
            continue
        what = "%2d %s: %s → %s" % (n + 1, plant[0], plant[2][:45], plant[3][:45])
        with tempfile.TemporaryDirectory(prefix="vyre-plant-") as folder:
            found, why = look(plant, folder, o)
        missed += not found
        print("%s\n   %s" % (what, found or why))
        sys.stdout.flush()
    print("%d went unnoticed" % missed)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())

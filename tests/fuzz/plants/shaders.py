# SPDX-License-Identifier: MIT
"""Faults in the reader of SPIR-V and in what is written for its hosts: what only shaders show."""
GROUPS = (  # the test that notices, and what is changed, what is compiled, old, new
    ("text/shader/quiet_shared.comp", (
        ("ir/check/quiet.c", None, "!(f.phase[id].stores & bit)", "!(f.before[id].stores & bit)"),
        ("ir/check/quiet.c", None, "!(f.phase[id].stores & bit)", "!(f.after[id].stores & bit)"),
        ("ir/check/quiet.c", None, "if (memory && p->insts.data[id].op != VY_OP_LOAD)", "if (memory && p->insts.data[id].op == VY_OP_STORE)"),
    )),
    ("text/shader/quotients.comp", (
        ("spirv/read/quotients.c", None, "part.hi < INT64_C(1) << bits", "part.hi < INT64_C(2) << bits"),
        ("spirv/read/quotients.c", None, "whole.count >= bits &&", "true &&"),
        ("spirv/read/quotients.c", None, "!(whole.bits & ((UINT64_C(1) << bits) - 1))", "true"),
    )),
    ("text/shader/outlived_index.test", (
        ("spirv/read/pointers.c", None, "            x->value = read_scalar(r, x->id, 0);", "            continue;"),
    )),
    ("text/shader/early_rows.comp", (
        ("autodiff/shapes/prove.c", None, "    ok = ok && !vy_nest_ends_early(&n); // the shape would have rows that are not reached\n", ""),
    )),
    ("text/shader/domain_once.comp", (
        ("spirv/read/once.c", None, "~(vy_along_element(&o->along, id) | value)", "~vy_along_element(&o->along, id)"),
        ("spirv/read/once.c", None, "if (is_global(p, id) && !stored_memory(p, id) &&", "if (false &&"),
        ("spirv/read/once.c", None, "if (one & ~lost && !excludes(o, stores[a], stores[b])) lost |= one;", ""),
        ("spirv/read/once.c", None, "if (vy_is_loop((vy_op)o->w.p->insts.data[up].op) && b > up &&", "if (false && b > up &&"),
        ("spirv/read/once.c", None, "if (!vy_in_different_arms(o->w.p, &o->w.s, a, b)) return false;", "return false;"),
    )),
    ("text/diag/e0302_quiet.vyre", (
        ("ir/check/quiet.c", None, "if (p->overs.count || p->host) return true;", "if (p->host) return true;"),
    )),
    ("text/shader/guessed.comp", (
        ("spirv/read/guess.c", None, "r->noted |= memcmp(r->now[id], r->uses[id], use_count(o)) != 0;", ""),
        ("spirv/read/guess.c", None, "memcpy(r->uses[id], r->now[id], use_count(o));", ""),
    )),
    ("text/shader/guessed_loop.comp", (
        ("spirv/read/guess.c", None, "r->noted |= memcmp(r->outlived, r->facts, r->w.bound) != 0;", ""),
        ("spirv/read/guess.c", None, "memcpy(r->facts, r->outlived, r->w.bound);", ""),
    )),
    ("text/shader/senses.comp", (
        ("spirv/read/operation.c", None, "*out = not(s, ordered(s, true, true)); return true;", "*out = ordered(s, false, false); return true;"),
        ("spirv/read/operation.c", None, "if (op == SpvOpShiftRightArithmetic) t = as_type(t, AS_SIGNED);", ""),
    )),
    ("text/shader/arithmetic.comp", (
        ("spirv/read/operation.c", None, "case SpvOpFOrdGreaterThan: *out = ordered(s, true, false);", "case SpvOpFOrdGreaterThan: *out = ordered(s, true, true);"),
        ("spirv/read/values.c", None, "return vy_shr(r->b, vy_shl(r->b, read_as(r, wide, v), bits), bits);", "return v;"),
        ("ir/build/geometry.c", None, 'return vy_call(b, "straight_through", 2, (vy_value[]){root, far});', "return root;"),
    )),
    ("text/shader/flow.comp", (
        ("spirv/read/header.c", None, "return op != SpvOpFunctionCall && !(r->facts[id] & READ_OUTLIVES);", "return true;"),
        ("spirv/read/header.c", None, "steps < 8 && !has_phi(r, merge); steps++", "steps < 8; steps++"),
        ("spirv/read/header.c", None, "if (op == SpvOpPhi || !id) return op != SpvOpStore && op != SpvOpCopyMemory;",
         "if (op == SpvOpPhi || !id) return true;"),
        ("spirv/read/memory.c", None, "t->e.field = before + read_type_of(t->r, member)->fields;", "t->e.field = before + 1;"),
    )),
    ("text/shader/steps.comp", (
        ("ir/pass/scalar/find_counter.c", None, "vy_type_is_signed(c->type) && !vy_type_is_signed(t) && !is_assumed", "false && !is_assumed"),
        ("spirv/read/steps.c", None, "if (of[k] == WIDE) vy_assume", "if (0) vy_assume"),
        ("ir/pass/scalar/find_counter.c", None, "if (!by) return vy_type_is_signed(c->type) && !c->differs ?", "if (!by) return !by && c->differs ?"),
        ("ir/pass/scalar/find_counter.c", None, "most->op == VY_DIM_SCALAR &&", ""),
        ("ir/pass/scalar/count_loops.c", None, "c.unsure)\n", "false)\n"),
        ("spirv/read/steps.c", None, "of[VY_LEAF_INDEX(c.unsure)] == COMPARED)", "false)"),
    )),
    ("text/shader/choice.comp", (
        ("spirv/read/switch.c", None, "vy_set(r->b, c->falls, vy_bool(r->b, false));", ""),
        ("spirv/read/switch.c", None, "e.falls = t->next ? c->falls : (vy_var){0};", ""),
    )),
    ("text/shader/lanes.comp", (
        ("spirv/read/sync.c", None, "const vy_value from = lane(r, op, read_as(r, VY_U32, given));", "const vy_value from = read_as(r, VY_U32, given);"),
    )),
    ("text/shader/lanes_more.comp", (
        ("spirv/read/lanes.c", None, "return below(r, last, 1, neutral(r, name, t), (vy_value){0});", "return last;"),
        ("spirv/read/lanes.c", None, "const vy_value has = vy_and(r->b, mine, c);", "const vy_value has = c;"),
        ("spirv/read/lanes.c", None, "if (how == SpvGroupOperationInclusiveScan) under = vy_or(r->b, under, bit);", ""),
    )),
    ("text/shader/types.comp", (
        ("spirv/read/composite.c", None, "return part(p, operand, column * rows + row);", "return part(p, operand, row * rows + column);"),
    )),
    ("text/shader/alias.comp", (
        ("spirv/read/variables.c", None, "w->offset = start + member_layout(w, type, k, SpvDecorationOffset);", "w->offset = start;"),
        ("spirv/read/alias.c", None, "if (of[end].binding != of[k].binding || of[end].o->kind != of[k].o->kind) break;", "break;"),
        ("spirv/read/alias.c", None, "vy_sub(r->b, all, skip)", "all"),
        ("spirv/read/alias.c", None, "a->use |= r->uses", "a->use = r->uses"),
    )),
    ("text/shader/alias_words.comp", (
        ("spirv/read/alias.c", None, "a->words ? 1 : vy_type_size(a->type);", "vy_type_size(a->type);"),
        ("spirv/read/alias.c", None, "if (vy_type_is_float(type)) return read_f16_of_bits(r, bits);", ""),
        ("spirv/read/alias.c", None, "return read_narrow(r, type, read_as(r, vy_type_loaded(type), bits));", "return read_as(r, vy_type_loaded(type), bits);"),
    )),
    ("text/shader/pack.comp", (
        ("spirv/read/pack.c", None, "word(r, 0x38800000)", "word(r, 0x38000000)"),
        ("spirv/read/pack.c", None, "word(r, 0x400)", "word(r, 0)"),
        ("spirv/read/pack.c", None, "return p->is_signed ? clamped(r, p, x) : x;", "return x;"),
        ("spirv/read/pack.c", None, "scaled = vy_mul(r->b, clamped(r, p, x), most);", "scaled = vy_mul(r->b, x, most);"),
        ("spirv/read/pack.c", None, "a > b ? part(r, b, k % (a / b), bits[k / (a / b)])", "a > b ? part(r, b, 0, bits[k / (a / b)])"),
    )),
    ("text/shader/image.comp", (
        ("spirv/read/texel.c", None, "index[t->axes - 1 - k] = at[k];", "index[k] = at[k];"),
        ("spirv/read/texel.c", None, "channel == 3);", "0);"),
        ("spirv/read/texel.c", None, "shift(&t, more.offset, at);", ""),
    )),
    ("text/shader/image_formats.comp", (
        ("spirv/read/texel.c", None, 'return vy_call(b, "straight_through", 2, (vy_value[]){step, inside});', "return step;"),
        ("spirv/read/texel.c", None, "(vy_value[]){step, inside}", "(vy_value[]){step, x}"),
        ("spirv/read/texel.c", None, "const uint32_t most = channel == 3 ? f->most_alpha : f->most;", "const uint32_t most = f->most;"),
        ("spirv/read/texel.c", None, "case READ_TEXEL_SNORM: return in_steps(t, -1, most, x);", "case READ_TEXEL_SNORM: return in_steps(t, 0, most, x);"),
        ("spirv/read/texel.c", None, "case READ_TEXEL_HALF: return vy_cast(t->r->b, VY_F32, vy_cast(t->r->b, VY_F16, x));", "case READ_TEXEL_HALF: return x;"),
    )),
    ("text/shader/image_kinds.comp", (
        ("spirv/read/alias.c", None, "of[i].o->fields = first->fields;", ""),
        ("spirv/read/texel.c", None, "t->field = p->index[0].number;", "t->field = 0;"),
        ("spirv/read/image.c", None, "t->axes = t->spatial + (read_word_of(&r->w, type, 5) != 0);", "t->axes = t->spatial;"),
    )),
    ("text/shader/sampler.comp", (
        ("spirv/read/sample.c", None, "if (s->linear) u = vy_sub(s->b, u, vy_float(s->b, VY_F32, 0.5));", ""),
        ("spirv/read/sample.c", None, "s->between[axis] = vy_sub(s->b, u, low);", "s->between[axis] = vy_stop_grad(s->b, vy_sub(s->b, u, low));"),
        ("spirv/read/sample.c", None, "vy_sub(s->b, both, integer(s, 1))", "both"),
        ("spirv/read/sample.c", None, "vy_select(s->b, below, vy_add(s->b, rest, n), rest)", "(void)below, rest"),
        ("spirv/read/sample.c", None, "vy_min(s->b, vy_max(s->b, i, integer(s, 0)), last);\n    case", "i;\n    case"),
        ("spirv/read/sample.c", None, "s->t.sampler ? s->t.sampler : s->t.o->variable", "s->t.o->variable"),
    )),
    ("text/shader/sampler_kinds.comp", (
        ("spirv/read/sample.c", None, "{{0, 1}, {1, 1}, {1, 0}, {0, 0}}", "{{0, 0}, {1, 0}, {1, 1}, {0, 1}}"),
        ("spirv/read/sample.c", None, "s->linear &= s->t.type == VY_F32;", ";"),
        ("spirv/read/sample.c", None, "vy_min(s->b, vy_max(s->b, i, zero), last);\n}", "((void)zero, (void)last, vy_cast(s->b, VY_I32, coordinate));\n}"),
        ("spirv/read/sample.c", None, "read_scalar(s->t.r, s->offset, axis)", "read_scalar(s->t.r, s->offset, 1)"),
    )),
    ("text/shader/image_chosen.comp", (
        ("spirv/read/chosen.c", None, "        t->field = k;\n", "        t->field = 0;\n"),
        ("spirv/read/chosen.c", None, "vy_set(b, results[i], v[i]);", "vy_set(b, results[0], v[i]);"),
        ("spirv/read/texel.c", None, "if (!t->chosen && k != t->field) continue;", "if (k != t->field) continue;"),
        ("spirv/read/sample.c", None, "    s->t = *t;\n", ""),
    )),
    ("text/shader/leaving.comp", (
        ("spirv/read/carried.c", None, "case SpvOpReturn: c->returns = true; return true;", "case SpvOpReturn: return true;"),
        ("spirv/read/words.c", None, "if (row->type) m->type[id] = m->words[at + 1];", "if (row->type) m->type[id - 1] = m->words[at + 1];"),
    )),
    ("images_chosen.py", (
        ("spirv/read/chosen.c", None, "        t->field = k;\n", "        t->field = 0;\n"),
        ("spirv/read/chosen.c", None, "vy_set(b, results[i], v[i]);", "vy_set(b, results[0], v[i]);"),
        ("spirv/read/sample.c", None, "    s->t = *t;\n", ""),
    )),
    ("text/shader/parts.comp", (
        ("spirv/read/parts.c", None, "take(r, apart, x, n, v, v + n);", "take(r, apart, x, n, v + n, v);"),
        ("spirv/read/parts.c", None, "&& read_store_scalars(r, p, second);", "&& read_store_scalars(r, p, v);"),
        ("spirv/read/carried.c", None, "case SpvOpExtInst: return add_pointers(c, at, 5) &&", "case SpvOpExtInst: return"),
        ("spirv/read/parts.c", None, "out[0] = vy_sub(b, x, out[1]);", "out[0] = vy_stop_grad(b, vy_sub(b, x, out[1]));"),
        ("spirv/read/parts.c", None, "const vy_value e = read_as(r, VY_I32, read_scalar(r, operands[1], k));", "const vy_value e = read_as(r, VY_I32, read_scalar(r, operands[1], 0)); (void)k;"),
    )),
    ("text/shader/lockstep.comp", (
        ("spirv/read/lockstep.c", None, "vy_rewrite_as(&x->w, carry, vy_add(b, raw, own).id);", "vy_rewrite_as(&x->w, carry, raw.id); (void)own;"),
        ("spirv/read/lockstep.c", None, "counter ? s->raw : s->end", "counter ? vy_new(&x->w, vy_carry(loop, s->c.slot)) : s->end"),
        ("spirv/read/lockstep.c", None, "(s->minus ? vy_sub(b, raw, step) : vy_add(b, raw, step)).id", "vy_new(&x->w, vy_slot_next(p, &x->w.s, loop, slot)); (void)step"),
    )),
    ("text/shader/domain.comp", (
        ("spirv/read/guards.c", None, "return sense ? make_bound(p, a, b, true, out)", "return sense ? make_bound(p, a, b, false, out)"),
        ("spirv/read/domain.c", None, "e = e.id ? vy_dim_binary(d->w.b, VY_DIM_MIN, e, x) : x;", "e = x;"),
        ("spirv/read/domain.c", None, "if (bound->offset) e = vy_dim_binary(b, VY_DIM_SUB,", "if (bound->offset) e = vy_dim_binary(b, VY_DIM_ADD,"),
    )),
    ("text/shader/domain_arms.comp", (
        ("spirv/read/domain.c", None, "d->arm[id] = taken->u ? ARM_THEN : ARM_ELSE;", "d->arm[id] = ARM_THEN;"),
        ("spirv/read/domain.c", None, "d->arm[opener] == ARM_THEN ? vy_slot_then(p, &d->w.s, opener, k)",
         "d->arm[opener] != ARM_THEN ? vy_slot_then(p, &d->w.s, opener, k)"),
        ("spirv/read/domain.c", None, "return taken->u ? id : d->w.s.partner[id];", "return id;"),
    )),
    ("text/shader/matrix_blocks.comp", (
        ("spirv/read/variables.c", None, "return w->in_matrix && w->row_major ? w->matrix_stride : size;", "return size;"),
    )),
    ("text/shader/matrix_shapes.comp", (
        ("spirv/read/composite.c", None, "sum = product_sum(p, sum, part(p, 0, k), y);\n        }\n        p->v[c]",
         "sum = product_sum(p, sum, part(p, 0, c), y);\n        }\n        p->v[c]"),
        ("spirv/read/composite.c", None, "p->v[i * columns + c] = entry(p, 0, i, c);", "p->v[c * rows + i] = entry(p, 0, i, c);"),
    )),
    ("text/shader/vectors_printed.comp", (
        ("spirv/read/memory.c", None, "f->vector && k + 1 == f->rank ? VY_I32 : VY_U32", "VY_U32"),
        ("spirv/read/parameters.c", None, "if (!vector || !n) return name;", "return name;"),
        ("spirv/read/variables.c", None, "w->vector = read_vector_size(w->r, type);", ";"),
    )),
    ("text/shader/bool_vectors.comp", (
        ("spirv/read/composite.c", None, "case SpvOpAny: return any_or_all(&p, true);", "case SpvOpAny: return any_or_all(&p, false);"),
        ("spirv/read/composite.c", None, "for (uint32_t k = 1; k < type_of(p, 0)->count && done(p); k++)", "for (uint32_t k = 2; k < type_of(p, 0)->count && done(p); k++)"),
    )),
    ("text/shader/find_bits.comp", (
        ("spirv/read/extended.c", None, "vy_select(c->b, negative, vy_not(c->b, x), x)", "((void)negative, x)"),
        ("spirv/read/composite.c", None, "borrow ? vy_lt(p->b, x, y) : vy_lt(p->b, p->v[k], x)", "vy_lt(p->b, p->v[k], x)"),
        ("spirv/read/composite.c", None, "const vy_type word = is_signed ? VY_I32 : VY_U32,", "const vy_type word = VY_U32,"),
    )),
    ("text/shader/butterfly.comp", (
        ("spirv/read/sync.c", None, '? "shuffle_xor"', '? "shuffle"'),
    )),
    ("text/shader/workgroup_sizes.comp", (
        ("spirv/read/read.c", None, "if (s) size[k] = (uint32_t)s->u;", "if (s && k < 2) size[k] = (uint32_t)s->u;"),
    )),
    ("text/shader/spec_shared.comp", (
        ("spirv/read/values.c", None, "if (r->spec_number[k] == *number)", "if (r->spec_number[k] == *number && *read_name(r, id))"),
    )),
    ("text/shader/incidence.comp", (
        ("spirv/read/extended.c", None, "x[2][0] = arg(c, 2, 0);", "x[2][0] = arg(c, 1, 0);"),
    )),
    # What random shaders notice.
    ("random_shaders.py", (
        ("spirv/read/composite.c", None, "p->v[c * rows + i] = vy_mul(p->b, part(p, 0, i), y);",
         "p->v[i * columns + c] = vy_mul(p->b, part(p, 0, i), y);"),
        ("spirv/read/operation.c", None, "vy_and(s->b, x, vy_not(s->b, vy_shl(s->b, low, offset)));", "x;"),
        ("spirv/read/variables.c", None, "case SpvOpTypeMatrix: return w->row_major ? size : w->matrix_stride;",
         "case SpvOpTypeMatrix: return w->matrix_stride;"),
    )),
    # Where a shader's host has its parameters.
    ("text/shader/places.comp", (
        ("spirv/describe/places.c", None, "d->free = (vy_place_of){d->free.set + 1, 0};", ";"),
        ("ir/build/layout.c", None, "vy_buffer_layout(b, made, &of->layout);", ";"),
        ("ir/build/layout.c", None, "vy_scalar_layout(b, made, &of->layout);", ";"),
        ("spirv/read/places.c", None, "l.within = f->within;", ""),
        ("spirv/read/places.c", None, "l.offset += element % f->dims[k] * f->strides[k];", ""),
    )),
    # The addresses themselves, on a device.
    ("corpus.py", (
        ("spirv/emit/hosted.c", None, "vy_spv_u32(f->m, b->layout.offset / size);", "vy_spv_u32(f->m, 0);"),
        ("spirv/emit/hosted.c", None, "if (step > 1) n = VY_DO(f, SpvOpUDiv", "if (step > 9999) n = VY_DO(f, SpvOpUDiv"),
        ("spirv/emit/hosted.c", None, "if (before && has_strides(b)) {", "if (false) {"),
    )),
    ("text/shader/domain_one.comp", (
        ("spirv/read/read.c", None, "own.keep_domain = true;", ""),
    )),
    ("text/shader/domain_returns.comp", (
        ("spirv/read/guards.c", None, "left &= set_at(p, s, sets, id);", "left = 0;"),
        ("spirv/read/guards.c", None, "return then | (around | ", "return then | ("),
    )),
    ("text/shader/domain_group.comp", (
        ("spirv/read/domain.c", None, "extent_of(d, &of->data[k], of != &d->all)", "extent_of(d, &of->data[k], false)"),
        ("spirv/read/domain.c", None, "if (bound->of_group) return times(b, e, size);", ""),
        ("spirv/read/guards.c", None, "if (effect == VY_CONV) return READ_GROUP_EFFECT;", ""),
    )),
    ("text/shader/domain_none.comp", (
        ("spirv/read/domain.c", None, "if (l->index == VY_NUM_GROUPS) return false;", ""),
        ("spirv/read/domain.c", None, "(d->used[axis] || d->w.p->workgroup[axis] > 1)", "d->used[axis]"),
        ("spirv/read/domain.c", None, "(d->used[axis] || d->w.p->workgroup[axis] > 1)", "d->w.p->workgroup[axis] > 1"),
        ("spirv/read/guards.c", None, "(!is_signed && !is_no_difference(p, rest, 0))", "false"),
        ("spirv/read/guards.c", None, "op == VY_OP_IF && !vy_in_then(s, up, id);", "op == VY_OP_IF && false;"),
        ("spirv/read/guards.c", None, "left &= set_at(p, s, sets, id);", ""),
        ("spirv/read/guards.c", None, "i->op == (sense ? VY_OP_AND : VY_OP_OR)", "(i->op == VY_OP_AND || i->op == VY_OP_OR)"),
    )),
    ("text/shader/launch.comp", (
        ("spirv/read/launch.c", None, "l->index = VY_WID;", ";"),
        ("spirv/read/launch.c", None, "size[l->axis] != 1) continue;", "size[l->axis] == 0) continue;"),
        ("spirv/read/launch.c", None, "&& vy_pass_implied(p, &c);", ";"),
        ("ir/facts/value_range.c", None, "? cast(v, id) : whole;", "? whole : whole;"),
    )),
    ("text/shader/subgroup_arms.comp", (
        ("spirv/read/subgroup_arms.c", None, "if (!x->apart[up] || x->split[up] || !is_same(x, vy_arg(p, up, 0))) continue;", "if (x->split[up]) continue;"),
        ("spirv/read/subgroup_arms.c", None, "others[k] = is ? emit_steady(x, &s, next) : l->out[k];", "others[k] = l->out[k];"),
        ("spirv/read/subgroup_arms.c", None, "vy_end_if(x->w.b, l.own, h->then ? others : l.in, l.out);", "vy_end_if(x->w.b, l.own, others, l.out);"),
        ("spirv/read/subgroup_arms.c", None, "if (id < s->opener) return !x->origin[id];", "if (id < s->opener) return true;"),
        ("spirv/read/subgroup_arms.c", None, "return !vy_exits(x->w.p, id);", "return true;"),
        ("spirv/read/subgroup_arms.c", None, "x->origin[id] || x->apart[x->w.s.parent[id]]", "x->origin[id] != 0"),
        ("spirv/read/subgroup_arms.c", None, "case VY_OP_SG_ANY:", "case VY_OP_SG_ANY: return false;"),
        ("spirv/read/subgroup_arms.c", None, "vy_rewrite_range(&x->w, (h->then ? h->middle : h->last) + 1, h->end, replace, x);", "vy_rewrite_range(&x->w, h->last + 1, h->end, replace, x);"),
        ("spirv/read/subgroup_arms.c", None, "MOST_ROUNDS = 64 };", "MOST_ROUNDS = 1 };"),
        ("spirv/read/subgroup_arms.c", None, "if (VY_IS_LEAF(a) || a < first || a >= at || used[a]) continue;", "if (VY_IS_LEAF(a) || a < first || a >= at || used[a] || id > at) continue;"),
    )),
    ("text/shader/spec_names.comp", (
        ("spirv/read/values.c", None, "if (how == BY_NAME && found[k] == BY_NAME && r->spec_number[k] != number)", "if (false)"),
        ("spirv/read/values.c", None, "if (how > found[k]) {", "if (how) {"),
    )),
    ("text/shader/coordinates.comp", (
        ("autodiff/gather/gather_split.c", None, "if (s->guarded) vy_end_plain_if(b);", "(void)0;"),
        ("autodiff/gather/gather_split.c", None, "for (uint32_t k = high; k-- > part.low;) {", "for (uint32_t k = part.low; k < high && k <= part.low; k++) {"),
        ("autodiff/gather/gather_split.c", None, "if (!may_be_zero(s, row->factor[k])) continue;", "continue;"),
        ("autodiff/gather/gather_split.c", None, "return s->guarded || d->op", "return d->op"),
        ("autodiff/gather/gather_split.c", None, "    if (k + 1 < s->count && gather_stride_ratio(&s->stride[k], &s->stride[k + 1], &ratio)) {", "    if (false) {"),
        ("autodiff/gather/gather_parts.c", None, "*(remainder ? &x.high : &x.low) = at;", "*(remainder ? &x.low : &x.high) = at;"),
        ("autodiff/gather/gather_parts.c", None, "return (gather_part){.low = x.low, .high = q.low, .is = true};", "return (gather_part){.low = x.low, .high = x.high, .is = true};"),
        ("autodiff/gather/gather_parts.c", None, "return differ ? gather_part_of(s, vy_arg(s->p, id, 2)) : (gather_part){0};", "return (gather_part){0};"),
        ("autodiff/gather/gather_assume.c", None, "if (k == 0 && covers_domain(g, r)) return;", ""),
        ("autodiff/gather/gather_either.c", None, "    vy_dim all = g->launch.holds;", "    vy_dim all = {0};"),
        ("autodiff/gather/gather_either.c", None, "if (!all->holds.id || gather_is_given(g, all->condition[k]))", "if (false)"),
        ("autodiff/gather/gather.c", None, "if (!empty && ok) ok = gather_join_domain(g, rest);", ""),
    )),
    ("text/shader/strides.comp", (
        ("autodiff/gather/gather.c", None, "iterations[count] = gather_else(g, holds);", "iterations[count] = gather_either(g, holds, (vy_dim){0});"),
        ("autodiff/gather/gather_sums.c", None, "vy_dim_number(w->b, x->rows->axis[k].stride);", "vy_dim_number(w->b, x->rows->axis[k].extent);"),
        ("autodiff/gather/gather_assume.c", None, "r->holds = r->holds.id ? gather_node(g, VY_DIM_MIN, r->holds, fits) : fits;", "r->holds = fits;"),
        ("autodiff/gather/gather_assume.c", None, "r->holds = r->holds.id ? gather_node(g, VY_DIM_MIN, r->holds, fits) : fits;",
         "if (!r->holds.id) r->holds = fits;"),
        ("autodiff/gather/gather_assume.c", None, "if (natural && s->whole[axis]) s->whole[axis] = is_in_row(s, n, v, axis - 1, axis);", ""),
        ("autodiff/gather/gather_assume.c", None, "gather_number(g, k ? 1 :", "gather_number(g, k ? 2 :"),
        ("autodiff/gather/gather_assume.c", None, "s->reached[axis] ? isl_set_union(s->reached[axis], range) : range;", "(isl_set_free(s->reached[axis]), range);"),
        ("autodiff/gather/gather_assume.c", None, "if (all_in_row(s, k, n)) return k;", ""),
        ("autodiff/gather/gather_assume.c", None, "if (gather_is_inner(s->g, s->rows, k, next)) next = k;", ""),
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
    )),
)

# SPDX-License-Identifier: MIT
"""Faults in gradients with atomics, shared memory and subgroups, and in sums of one order."""
GROUPS = (  # the test that notices, and what is changed, what is compiled, old, new
    ("text/deterministic/old_own.vyre", (
        ("autodiff/deterministic/deterministic.c", None, "o->w.map[id] = old.id;", ";"),
    )),
    # What decides whether a barrier is reached, where it is recomputed.
    ("text/grad/shared/recounted.vyre", (
        ("autodiff/reverse/recount.c", None, "variable(r, opener, number), out, in);", "(uint32_t)((void)variable, number), out, in);"),
        ("autodiff/reverse/recount.c", None, "decides(r, opener, k) ? out[count++] : 0;", "decides(r, opener, k) ? out[0] : 0;"),
        ("autodiff/reverse/replay.c", None, "if (r->build.values_only && r->p->buffers.data[i->aux].cls != VY_IN) {", "if (0) {"),
    )),
    ("text/deterministic/again.vyre", (
        ("autodiff/driver/entry.c", None, "if ((n || make_pipeline(out, diag)) && add_plain(out, m, options, diag)) return out;", "(void)make_pipeline, (void)add_plain; return out;"),
        ("autodiff/driver/entry.c", None, "if ((n || make_pipeline(out, diag)) && add_plain(", "if (n && add_plain("),
        ("ir/core/derive_as.c", None, "any |= p->buffers.data[i].made == VY_MADE_SUMS && p->buffers.data[i].type == VY_I32;", "any = p->buffers.count > 0;"),
        ("ir/text/print_head.c", None, "if (!o->p->signature && vy_exact_sums(o->p)) print_str", "if (0) print_str"),
        ("ir/text/lower.c", None, "vy_builder_program(l.b)->exact_sums = fn->exact_sums;", ";"),
        ("autodiff/driver/derive_as.c", None, "if (p && vy_exact_sums(p)) return refuse(", "if (0) return refuse("),
        ("autodiff/verify/check_image.c", None, "return exact ? vy_derived_as(l) : l;", "return (void)exact, l;"),
        ("tools/verbs/check/check_device.c", None, "start_again(k, c, k->named, false, &named, d)", "start_again(k, c, k->source, false, &named, d)"),
    )),
    # Which accesses may touch one element, and in what other ones the programs of extrema do.
    ("text/grad/atomics/apart.vyre", (
        ("autodiff/facts/element_groups.c", None, "return x.hi < y.lo || y.hi < x.lo;", "return x.lo < y.lo;"),
        ("autodiff/facts/element_groups.c", None, "if (many || !differ_by_isl(g, x, y)) join(g, x, y);", ""),
        ("autodiff/facts/element_groups.c", None, "join(g, g->site[k], id);", ";"),
        ("autodiff/facts/element_groups.c", None, "return none && vy_affine_ok(&g->isl);", "return false;"),
        ("autodiff/reverse/replay.c", None, "if (facts->extremum && vy_is_contested(r->p, id)) {",
         "if (facts->extremum && i->op != VY_OP_LOAD) {"),
        ("autodiff/forward/forward_extremum.c", None, "if (!vy_is_contested(x->w.p, id) || !x->winner[i->aux]) return 0;",
         "if (!vy_op_is_memory((vy_op)i->op) || !x->winner[i->aux]) return 0;"),
        ("autodiff/rewrite/own_atomics.c", None, "return vy_is_extremum(op) && vy_type_is_float(", "return false && vy_type_is_float("),
        ("autodiff/facts/injective.c", None, "vy_isl_map_is_empty(b->map) == isl_bool_false;", "true;"),
    )),
    # What an invocation stores to once.
    ("text/grad/memory/stored_once.vyre", (
        ("autodiff/facts/stored_once.c", None, "if (d[k].last && by <= all) return false;", ";"),
        ("autodiff/facts/stored_once.c", None, "if (all >= WRAP) return false;", ";"),
        ("autodiff/facts/stored_once.c", None, "if (n == 1 && s.by[k] % 2) {", "if (n == 1) {"),
        ("autodiff/facts/stored_once.c", None, "if (n == 1 && s.by[k] % 2) {", "if (false) {"),
        ("autodiff/facts/stored_once.c", None, "if (!VY_IS_LEAF(s.term[k]) && vy_encloses(f, loops[j], s.term[k])) return false;", ";"),
        ("autodiff/facts/stored_once.c", None, "if (vy_encloses(f, l, s->term[k])) return false;", ";"),
        ("autodiff/facts/stored_once.c", None, "return !f->barriers || ", "return true || "),
        ("autodiff/facts/stored_once.c", None, "if (y->by[k]) return false;", ";"),
        ("autodiff/facts/stored_once.c", None, "for (uint32_t j = own; j < n; j++) d[j].by = -d[j].by;", ""),
        ("autodiff/facts/stored_once.c", None, "factor = vy_common_divisor(factor, by);", "factor = by;"),
        ("autodiff/facts/stored_once.c", None, "s->constant += s->by[k] * (uint32_t)from;", ""),
        ("autodiff/facts/stored_once.c", None, "return low > 0 || high < 0 || (factor && c % factor != 0);", "return low > 0 || high < 0;"),
        ("autodiff/reverse/simple_outputs.c", None, "enum { MOST = 64 }; // stores", "enum { MOST = 8 }; // stores"),
        ("autodiff/facts/shadow.c", None, "if (!vy_stores_apart(f, store, w)) return true;", ""),
    )),
    # What barriers order.
    ("text/grad/atomics/phases.vyre", (
        ("autodiff/rewrite/extremum_sites.c", None, "return vy_lane_owns(&x->facts, x->differs, site);", "return true;"),
        ("autodiff/rewrite/extremum_sites.c", None, "&& !vy_surely_apart(&x->apart, id, site);", ";"),
        ("autodiff/rewrite/extremum_sites.c", None, "return !VY_IS_LEAF(a) && a >= s->outer && !vy_candidate_group(e, s, k);",
         "return true;"),
        ("autodiff/facts/workgroup_elements.c", None, "return by && by->u == shape[axis] &&", "return false &&"),
        ("autodiff/facts/workgroup_elements.c", None, "if (axis >= n) return false;", ""),
        ("autodiff/rewrite/extremum_vote.c", None, "vy_candidate_each(e, s, forget);", ";"),
        ("autodiff/rewrite/extremum_vote.c", None, "if (e->own[id]) replace_own(e, id);", ""),
        ("autodiff/forward/forward.c", None, "f->w.map[id] = vy_new_arg(&f->w, id, 0);\n        return id;", "return 0;"),
    )),
    # What candidates of loops that lanes do not run together have in common.
    ("text/grad/atomics/divergent.vyre", (
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
    )),
    # Atomics of several kinds on one buffer.
    ("text/deterministic/kinds.vyre", (
        ("autodiff/deterministic/deterministic.c", None, "|| !vy_check_kinds(o) ||", "||"),
        ("autodiff/deterministic/kinds.c", None, "vy_strength_of(p, id) < VY_STRENGTH_OWNED);", "true);"),
        ("autodiff/deterministic/kinds.c", None, "const uint32_t group = x->group[id];", "const uint32_t group = 1;"),
        ("autodiff/deterministic/kinds.c", None, "return find_groups(x) && (!x->slots || check_phases(x));", "return find_groups(x);"),
        ("autodiff/deterministic/kinds.c", None, "vy_one_workgroup(p, &x->o->w.s, x->group, group);", "true;"),
        ("autodiff/deterministic/kinds.c", None, "if (x->group[id] == group && vy_adds_floats(p, id)) return false;", ";"),
    )),
    ("text/deterministic/others.vyre", (
        ("autodiff/deterministic/deterministic_copy.c", None, "if (!name || at == m->pipelines.count) return copy_of(m);", "return copy_of(m);"),
    )),
    ("text/grad/subgroup/padding.vyre", (
        ("autodiff/rewrite/explicit_padding.c", None, "|| !is_alike(u, id);", ";"),
        ("autodiff/rewrite/explicit_padding.c", None, "(cls != VY_LOCAL && (cls != VY_IN || i->op != VY_OP_LOAD)) ||", ""),
        ("autodiff/rewrite/explicit_padding.c", None, "!= VY_IN) u->raw[id] =", ">= VY_IN) u->raw[id] ="),
        ("autodiff/rewrite/explicit_padding.c", None, "at; at = u->w.s.parent[at]) alike &=", "false; at = u->w.s.parent[at]) alike &="),
        ("autodiff/rewrite/explicit_padding.c", None, "!vy_leaf_differs(p, index)", "true"),
    )),
    ("text/deterministic/shared_range.vyre", (
        ("autodiff/deterministic/exact_sum.c", None, "word_at(r, vy_min(b, k, u32(b, r->words)));", "word_at(r, k);"),
    )),
    # Local arrays that are filled several times.
    ("text/grad/storage/refilled.vyre", (
        ("autodiff/rewrite/array_versions.c", None, "vy_id_int(p, vy_arg(p, loop, 0), &from) && from == 0 &&", "vy_id_int(p, vy_arg(p, loop, 0), &from) &&"),
        ("autodiff/rewrite/array_versions.c", None, "(uint64_t)n->value == trips;", "trips <= (uint64_t)n->value;"),
        ("autodiff/rewrite/array_versions.c", None, "!vy_exits(p, loop) &&", ""),
        ("autodiff/rewrite/array_versions.c", None, "g.end == g.begin + 1 && x->p", "x->p"),
        ("autodiff/rewrite/array_versions.c", None, "return found == (1u << b->rank) - 1;", "return true;"),
        ("autodiff/rewrite/array_versions.c", None, "== VY_OP_ZERO && !x->s.parent[id];", "== VY_OP_ZERO;"),
        ("autodiff/rewrite/array_versions.c", None, "&& x->of[at] > item) return 0;", "&& x->of[at] > item && !x) return 0;"),
        ("autodiff/rewrite/array_versions.c", None, "if (fill && writes == 1)", "if (fill && writes)"),
        ("autodiff/rewrite/array_versions.c", None, "if (!fill && !clears) break;", ""),
        ("autodiff/rewrite/array_versions.c", None, "if (!vy_same_index(p, fill, from, VY_NO_AXIS)) return 0;", ""),
        ("autodiff/rewrite/array_versions.c", None, "return i->op != VY_OP_STORE || is_local(p, i->aux);", "return false;"),
        ("autodiff/rewrite/array_versions.c", None, "while (c && source[c]) c = source[c];", ""),
        ("autodiff/rewrite/array_versions.c", None, "if (x->bytes + bytes > MOST_BYTES) return b;", ""),
    )),
)

# SPDX-License-Identifier: MIT
"""Faults in the verbs of the command."""
GROUPS = (  # the test that notices, and what is changed, what is compiled, old, new
    # What `check` compares the device with.
    ("first_indices.py", (
        ("spirv/emit/emit_memory.c", None, "k >= known && !f->m", "k >= known + (known > 0) && !f->m"),
        ("spirv/emit/emit_memory.c", None, "row_major(f, extents + first, index + first, rank - first);", "row_major(f, extents, index, rank);"),
        ("spirv/emit/emit_memory.c", None, "row_major(f, extents, index, first), size);", "index[first - 1], size);"),
        ("spirv/emit/emit_memory.c", None, "vy_extent_id(f, &extents[first], VY_EXTENT_U32);", "vy_extent_id(f, &extents[rank - 1], VY_EXTENT_U32);"),
        ("ir/facts/in_range.c", None, "if (!vy_is_below(q, index,", "if (k < 1 && !vy_is_below(q, index,"),
        ("ir/facts/in_range.c", None, "!= VY_U32 && !vy_is", "!= VY_U32 && k < 1 && !vy_is"),
    )),
    ("text/opt/shared_places.vyre", (
        ("spirv/emit/emit_memory.c", None, "k >= known && !f->m", "k > known && !f->m"),
        ("spirv/emit/emit_memory.c", None, "row_major(f, extents + first, index + first, rank - first);", "index[first];"),
        ("spirv/emit/emit_memory.c", None, "for (uint32_t k = first + 1; k < rank; k++)", "for (uint32_t k = first + 2; k < rank; k++)"),
        ("spirv/emit/emit_memory.c", None, "rest, vy_spv_u32(f->m, 0)));", "rest, size));"),
        ("ir/facts/in_range.c", None, "return k;", "return 0;"),
        ("ir/pass/scalar/mark_in_range.c", None, ": (uint8_t)(VY_FLAG_FIRST * (axes < most ? axes : most));", ": 0;"),
    )),
    ("text/cmd/validate.test", (
        ("session/target.c", None, "s->validate_always || (wanted", "(wanted"),
        ("session/target.c", None, 'strcmp(wanted, "0"))', "false)"),
        ("session/target.c", None, "everything_is_validated(s) ? 0 :", ""),
        ("tools/command/source.c", None, "    s->validate_always = o->validate == VALIDATE_ALWAYS;\n", ""),
        ("tools/command/runner.c", None, "if (c->o.no_validate || v->done", "if (v->done"),
        ("tools/command/runner.c", None, "v->done || c->", "c->"),
        ("tools/command/options.c", None, "if (o->no_validate && o->validate == VALIDATE_ALWAYS)", "if (false)"),
    )),
    ("text/parse/lowered.vyre", (
        ("ir/text/print_expr.c", None, "if (flags & VY_FLAG_FIRSTS) {", "if (false) {"),
        ("ir/text/parse_primary.c", None, "return (uint8_t)(n * VY_FLAG_FIRST);", "return VY_FLAG_FIRST;"),
    )),
    ("text/diag/e0716_first.vyre", (
        ("ir/eval/eval_memory.c", None, "disproved |= axis < known;", "disproved |= known == b->rank;"),
    )),
    ("text/check/dead_store.vyre", (
        ("tools/verbs/check/check_device.c", None, "ok = ok && check_derive(k, c, false,", "k->source = source, c->module = parsed, c->work.module = parsed;\n    ok = ok && check_derive(k, c, false,"),
    )),
    # Pictures and pipes.
    ("text/cmd/pictures.vyre", (
        ("tools/command/results.c", None, "one.data = a->data ? (char *)a->data + index *", "one.data = a->data ? (char *)a->data + 0 *"),
        ("tools/data/fill.c", None, "picture_begins(bytes.data, bytes.size)", "false"),
    )),
    ("text/explain/checkpoints.vyre", (
        ("autodiff/explain/pipe_steps.c", None, "!contains(each, counter))) return", "true)) return"),
        ("autodiff/explain/pipe_run.c", None, "is_counter(d, step) : r->marked[d->a] || r->marked[d->b];", "is_counter(d, step) : r->marked[d->a];"),
        ("ir/host/revolve_request.c", None, "constant && k->value < VY_REVOLVE_MOST ?", "constant ?"),
    )),
    ("explain.py", (
        ("spirv/write/text.c", None, "t->lengths[index] |= USED;", ";"),
        ("autodiff/explain/explain_pipeline.c", None, "w->run = made[2] ? last_of(made[2]) : w->source;", "w->run = w->source;"),
    )),
    # Which file a buffer is read from.
    ("text/cmd/folder.vyre", (
        ("tools/command/folder.c", None, "s->folders.count; i-- > 0 &&", "s->folders.count; i-- > s->folders.count - 1 &&"),
        ("tools/command/folder.c", None, "b.workspace || specs_find(s, b.name)) continue;", "b.workspace) continue;"),
        ("tools/command/folder.c", None, "b.cls == VY_OUT || b.workspace", "b.workspace"),
        ("tools/command/folder.c", None, "if (!in && own) return no_file(s, b.name, d);", ";"),
        ("tools/command/folder.c", None, "|| specs_find(out, name)) return true;", ") return true;"),
    )),
    # What is said of a checkpoint of another training.
    ("fit_resume.py", (
        ("tools/verbs/fit/fit_identity.c", None, "|| !strcmp(is->value, was->value)) continue;", ") continue;"),
        ("tools/verbs/fit/fit_identity.c", None, "if (!s->known || !fit_is_size(f, s->info.name)) continue;", "continue;"),
        ("tools/verbs/fit/fit_identity.c", None, "if (now.code) *d = now;", ";"),
        ("tools/verbs/fit/fit_prepare.c", None, "(!c->o.resume || !fit_is_other(f, c, d)) &&", ""),
        ("tools/verbs/fit/fit_checkpoint.c", None, "if (f->resumed.identity != f->identity) return", "if (0) return"),
    )),
    # Archives of arrays: sizes that are not believed, what is asked of libzip, which array it is.
    ("command_npz.py", (
        ("tools/data/npz_zip.c", None, "|| s->size / MOST_RATIO > s->comp_size)", ")"),
        ("tools/data/npz_zip.c", None, "const zip_int64_t n = zip_fread(f, &more, 1);", "const zip_int64_t n = 0; (void)more;"),
        ("tools/data/npz_zip.c", None, "!zip_set_file_compression(z, (zip_uint64_t)index, ZIP_CM_STORE, 0) &&", ""),
        ("tools/data/fill.c", None, "s->member ? s->member : s->name", "s->name"),
        ("tools/command/archive.c", None, "if (!strcmp(all->data[i].path, path)) return", "if (0) return"),
        ("tools/command/folder.c", None, "if (has || (path &&", "if ((path &&"),
    )),
    # Trainings on several devices: which rows a part has, what reaches the others.
    ("fit_ranks.py", (
        ("session/shard.c", None, "(index < more ? index : more);", "0;"),
        ("session/shard.c", None, "first * row * vy_type_size", "0 * row * vy_type_size"),
        ("session/ranks.c", None, "if (!vys_runner_upload_one(r->parts[k].run, to, d)) return false;", ""),
        ("session/ranks.c", None, "sum.f += vy_scalar_read(p->type, all + (k * p->count", "sum.f += vy_scalar_read(p->type, all + (0 * p->count"),
        ("tools/verbs/fit/fit_shard.c", None, "f->ranks.comm.rank * f->ranks.count + k;", "k;"),
        ("tools/verbs/fit/fit_ranks.c", None, "if (all[i] == all[(uint64_t)r * count + i]) continue;", "continue;"),
        ("tools/verbs/fit/fit_run.c", None, "return f->ranks.comm.rank || (fetch(f, d) &&", "return (fetch(f, d) &&"),
    )),
    # A domain runs in batches where `check` derives in both modes.
    ("text/grad/storage/batches.vyre", (
        ("session/derive.c", None, "if (!s->forward) { // tangents", "if (s->forward) w->divides = false; else { // tangents"),
    )),
    ("text/explain/limit.vyre", (
        ("tools/verbs/check/check.c", None, "if (k->first.module || !derive_with_less(c, d)) return false;", "return false;"),
        ("session/keep_less.c", None, "return storage < AGAIN ? AGAIN - storage : 1;", "return storage < AGAIN ? MOST_STATES : 1;"),
        ("session/keep_less.c", None, "if (storage < REVOLVE) return 0;", "return 0;"),
        ("ir/host/revolve_request.c", None, "        s->keep = VY_KEEP_REVOLVE", "        if (0) s->keep = VY_KEEP_REVOLVE"),
        ("ir/host/revolve_request.c", None, "        s->keep = VY_KEEP_REVOLVE", "        if (s->keep == VY_KEEP_ALL) s->keep = VY_KEEP_REVOLVE"),
        ("autodiff/reverse/sweep_dispatch.c", None, ".checkpoint = o->checkpoint,", ""),
        ("tools/verbs/explain/explain_keep.c", None, "return bytes->known && bytes->value > limit_of(c);", "return bytes->known && bytes->value >= limit_of(c);"),
    )),
    # Which options a verb has.
    ("command_options.py", (
        ("tools/command/options_help.c", None, ": takes_option(v, &option_table[i])))", ": true))"),
        ("tools/command/options.c", None, "if (takes_option(v, &option_table[i])) return &option_table[i];", ";"),
        ("tools/command/options.c", None, "if (!takes_option(o->verb, opt)) return wrong_verb(o, name, d);", ""),
    )),
)

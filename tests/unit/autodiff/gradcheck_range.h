// SPDX-License-Identifier: MIT
// gradcheck_range.h: which programs the oracle `range` looks at; part of gradcheck_file.c.
//
// An access out of range has a meaning: a load gives 0, a store does nothing.  But it costs the
// check, a driver without robust access and `--unchecked` make it undefined, and `check` fails on
// a text that has one.  So what is derived from a program that has none must have none either.
//
//   for k in 0..K { y[i] += w[1] * x[k]; }
//
// is left out where w has one element and K is 0: reverse mode loads w[1] before the loop, as -O2
// does where accesses are checked (ir/pass/scalar/licm.c), so this program has one after all.  A
// gather has loops of its own, over the domain of the program: where that may be empty, because a
// scalar or a buffer's extent is 0, a program is left out, too.

static bool may_be_empty(const image *x)
{
    bool empty = false;
    for (uint32_t k = 0; k < x->scalar_count; k++) empty |= x->scalars[k].value.u == 0;
    for (uint32_t k = 0; k < x->n; k++) empty |= x->counts[k] == 0;
    return empty;
}

// Moves loads before their loops, in one of two ways: with all loops unrolled that a derivative's
// might be, or as the text has them.  -O3 leaves out stores that are overwritten, and with them the
// loads of what they store, which a derivative may have moved before it finds that out.
static bool hoisted(vy_module *m, bool most)
{
    const vy_opt_options o = {.level = most ? 3 : 2};
    vy_pass_context c = {.options = &o};
    return most ? vy_optimize(m, &o) : vy_pass_licm(m->programs.data[m->programs.count - 1], &c);
}

// Does the program access nothing out of range at any launch once such loads are before their loops?
static bool is_in_range_hoisted(job *j, bool most)
{
    vy_module *m = parsed(j->text, "parse");
    bool ok = m && hoisted(m, most);
    for (uint32_t k = 0; ok && k < j->launch_count; k++) {
        image x;
        if (may_be_empty(&j->launches[k].x)) ok = false;
        if (!ok) break;
        use_launch(j, k);
        copy_image(last_program(m), &j->launches[k].x, false, &x);
        ok = run_on(last_program(m), &x, true, RACES, NULL) && !left_range;
        image_free(&x);
    }
    vy_module_free(m);
    return ok;
}

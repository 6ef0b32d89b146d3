// SPDX-License-Identifier: MIT
// gradcheck_second.h: derivatives of derivatives; part of gradcheck_file.c.
//
// As the command does for --order 2: the first gradient accumulates by atomics, so that it is one
// program, and is differentiated again with all its grad_* as outputs, in the default way.
static bool second_request(const vy_program *gp, gradcheck *c)
{
    uint32_t n = 0;
    memset(c->of, 0, sizeof c->of);
    for (uint32_t i = 1; i < gp->buffers.count; i++) {
        const vy_buf *b = &gp->buffers.data[i];
        if (b->cls != VY_OUT || strncmp(b->name, "grad_", 5) != 0 || !vy_type_is_float(b->type))
            continue;
        if (n + 1 >= MOST_NAMES) return false;
        c->of[n++] = b->name;
    }
    return n > 0;
}

static bool second_gradient(job *j, const vy_module *once, const vy_module *twice)
{
    const vy_program *gp = result_of(once);
    bool of[MOST_BUFFERS] = {false};
    const image *x = &j->launches[0].x;
    image start, got;
    start_gradient(&j->c, gp, x, &start);
    for (uint32_t i = 0; i < start.n; i++) {
        int from = find(x, start.buffers[i].name);
        if (from >= 0) memcpy(start.buffers[i].data, x->buffers[from].data, start.counts[i] * 8);
        of[i] = chosen(j->c.of, start.buffers[i].name, false);
    }
    bool ok = gradient_of(j, twice, &start, &got, "second");
    if (ok) {
        ok = check_dual(j, gp, &start, &got, of, "grad2_", 2, 4);
        if (!ok) fail(j, "second");
        image_free(&got);
    }
    image_free(&start);
    return ok;
}

static bool check_second(job *j, const vy_module *m)
{
    vy_module *once = derived_so(j, m, &j->c, VY_ACCUMULATE_ATOMIC, false, "second");
    if (!once) return !j->oracle;
    gradcheck was = j->c;
    bool ok = true;
    vy_module *twice = NULL;
    if (vy_module_pipeline_count(once) == 0 && second_request(result_of(once), &j->c)) {
        twice = derived_so(j, once, &j->c, VY_ACCUMULATE_AUTO, false, "second");
        ok = !j->oracle;
        if (twice) ok = second_gradient(j, once, twice);
        if (twice && ok) ok = optimised(twice, 2, true) || fail(j, "second");
        if (twice && ok) ok = second_gradient(j, once, twice);
    }
    j->c = was;
    vy_module_free(twice);
    vy_module_free(once);
    return ok;
}

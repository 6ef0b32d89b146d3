// SPDX-License-Identifier: MIT
// gradcheck_dual.h: the gradient against forward dual numbers (ir/eval/dual.h), which share no code
// with it; part of gradcheck_file.c.
//
// One run of the program gives the derivative of all outputs along a direction: weighted with the
// cotangents it is the dot product of gradient and direction.  Directions are random ones over all
// inputs together, and single elements, where no errors can cancel.  Where they disagree by more
// than the rounding of the terms explains, every element is checked by itself.
typedef struct tangents {
    vy_dual_buffer buffers[MOST_BUFFERS];
    vy_dual_scalar scalars[64];
    uint32_t n, scalar_count;
    uint64_t counts[MOST_BUFFERS];
} tangents;

static void tangents_free(tangents *t)
{
    for (uint32_t i = 0; i < t->n; i++) free(t->buffers[i].tangent);
}

// Every tangent is zero.
static void tangents_make(const vy_program *p, const image *x, tangents *t)
{
    t->n = t->scalar_count = 0;
    for (uint32_t i = 0; i < x->n; i++) {
        const vy_buffer id = vy_program_find_buffer(p, x->buffers[i].name);
        if (!vy_type_is_float(p->buffers.data[id.id].type)) continue;
        t->counts[t->n] = x->counts[i];
        t->buffers[t->n++] =
            (vy_dual_buffer){x->buffers[i].name, calloc(x->counts[i] + 1, sizeof(double))};
    }
    for (uint32_t s = 0; s < p->scalars.count; s++)
        if (vy_type_is_float(p->scalars.data[s].type))
            t->scalars[t->scalar_count++] = (vy_dual_scalar){p->scalars.data[s].name, 0};
}

// An element of an input, its gradient, and its tangent in t.
typedef struct place {
    double *dot;
    double got;
    const char *name; // of the gradient
    uint64_t element;
} place;

static uint32_t places_of(const job *j, const vy_program *p, const image *x, const image *g,
                          const char *prefix, tangents *t, place **out)
{
    uint32_t n = 0, room = 64;
    *out = malloc(room * sizeof **out);
    for (uint32_t i = 0; i < g->n; i++) {
        const char *name = g->buffers[i].name, *of_what = name + strlen(prefix);
        if (strncmp(name, prefix, strlen(prefix)) != 0 || find(x, name) >= 0) continue;
        double *dot = NULL;
        uint64_t count = 1;
        for (uint32_t s = 0; s < t->scalar_count; s++)
            if (strcmp(t->scalars[s].name, of_what) == 0) dot = &t->scalars[s].tangent;
        for (uint32_t k = 0; k < t->n; k++) {
            if (strcmp(t->buffers[k].name, of_what) != 0) continue;
            const vy_buffer id = vy_program_find_buffer(p, of_what);
            if (!chosen(j->c.wrt, of_what, vy_grad_default_wrt(p, id))) continue;
            dot = t->buffers[k].tangent;
            count = t->counts[k];
        }
        for (uint64_t e = 0; dot && e < count; e++) {
            if (n == room) *out = realloc(*out, (room *= 2) * sizeof **out);
            (*out)[n++] = (place){dot + e, ((double *)g->buffers[i].data)[e], name, e};
        }
    }
    return n;
}

// Σ outputs' tangents · cotangents, along the direction in t.  False: the interpreter cannot
// compute tangents of this program.
static bool forward(const job *j, const vy_program *p, const image *x, const bool *of,
                    const tangents *t, vy_dual_mode mode, double *out)
{
    image m;
    tangents mine = *t;
    copy_image(p, x, false, &m);
    for (uint32_t i = 0; i < t->n; i++) {
        mine.buffers[i].tangent = malloc((t->counts[i] + 1) * sizeof(double));
        memcpy(mine.buffers[i].tangent, t->buffers[i].tangent, t->counts[i] * sizeof(double));
    }
    vy_eval_options o = launch;
    o.f64 = true;
    const vy_dual dual = {.mode = mode,
                          .buffers = mine.buffers,
                          .buffer_count = mine.n,
                          .scalars = mine.scalars,
                          .scalar_count = mine.scalar_count};
    vy_diag d = {0};
    const bool ok =
        vy_eval_dual(p, pipeline_of(p), m.buffers, m.n, m.scalars, m.scalar_count, &o, &dual, &d);
    if (!ok) snprintf(message, sizeof message, "dual numbers: %s", d.text);
    *out = 0;
    for (uint32_t i = 0; ok && i < m.n; i++)
        for (uint32_t k = 0; of[i] && k < mine.n; k++) {
            if (strcmp(mine.buffers[k].name, m.buffers[i].name) != 0) continue;
            for (uint64_t e = 0; e < m.counts[i]; e++) {
                const double dot = mine.buffers[k].tangent[e];
                if (!vy_dual_is_none(dot)) *out += dot * cotangent(&j->c, m.buffers[i].name, e);
            }
        }
    tangents_free(&mine);
    image_free(&m);
    return ok;
}

typedef struct directions {
    const vy_program *p;
    const image *x;
    const bool *of;
    tangents t;
    place *places;
    uint32_t n;
} directions;

// The same with every float constant and input larger by half a unit of f32, in a module of its
// own: how far rounding the program's constants and inputs moves its derivative.
static bool forward_moved(const job *j, const directions *a, double *out)
{
    const double by = 1 + 0x1p-24;
    char *text = vy_print(a->p->module, NULL);
    vy_module *m = text ? parsed(text, "moved") : NULL;
    image x;
    copy_image(a->p, a->x, false, &x);
    for (uint32_t i = 0; i < x.n; i++) {
        const vy_buffer id = vy_program_find_buffer(a->p, x.buffers[i].name);
        if (!vy_type_is_float(a->p->buffers.data[id.id].type)) continue;
        for (uint64_t e = 0; e < x.counts[i]; e++) ((double *)x.buffers[i].data)[e] *= by;
    }
    const vy_program *moved = NULL;
    for (uint32_t i = 0; m && i < vy_module_program_count(m); i++) {
        const vy_program *p = m->programs.data[i];
        if (strcmp(vy_program_name(p), vy_program_name(a->p)) == 0) moved = p;
        for (uint32_t k = 0; k < p->leaves.count; k++)
            if (p->leaves.data[k].kind == VY_LEAF_CONST &&
                vy_type_is_float((vy_type)p->leaves.data[k].type))
                p->leaves.data[k].value.f *= by;
    }
    for (uint32_t i = 0; m && i < vy_module_pipeline_count(m); i++)
        if (strcmp(vy_program_name(vy_module_pipeline(m, i)->signature), vy_program_name(a->p)) ==
            0)
            moved = vy_module_pipeline(m, i)->signature;
    const bool ok = moved && forward(j, moved, &x, a->of, &a->t, VY_DUAL_TANGENT, out);
    image_free(&x);
    vy_module_free(m);
    free(text);
    return ok;
}

// Along the tangents of t.
static bool agrees_along(job *j, directions *a, const char *what)
{
    double want, got = 0, size = 0, terms = 0;
    if (!forward(j, a->p, a->x, a->of, &a->t, VY_DUAL_TANGENT, &want)) return fail(j, "dual");
    for (uint32_t i = 0; i < a->n; i++) {
        if (*a->places[i].dot == 0) continue;
        got += *a->places[i].dot * a->places[i].got;
        size += fabs(*a->places[i].dot * a->places[i].got);
    }
    j->compared++;
    if (!isfinite(want)) { // the program itself has no derivative here
        j->unreliable++;
        return true;
    }
    // Constants of derivatives (ln 2, 2/sqrt(pi)) are f32 in programs of f32, also where these are
    // computed in double.
    const double tolerance = j->tolerance > 1e-7 ? j->tolerance : 1e-7;
    if (fabs(want - got) <= tolerance * fmax(size, fabs(want))) return true;
    if (!forward(j, a->p, a->x, a->of, &a->t, VY_DUAL_MAGNITUDE, &terms)) return fail(j, "dual");
    if (!isfinite(terms) || fabs(want - got) <= tolerance * 10 * fmax(1e-9, fabs(terms))) {
        j->unreliable++;
        return true;
    }
    double moved = want;
    if (j->tolerance > 1e-7 && !forward_moved(j, a, &moved)) return fail(j, "dual");
    // Then other ways need not agree more closely either.  A NaN never agrees.
    if (isfinite(moved) && fabs(want - got) <= 10 * fabs(want - moved)) {
        j->tolerance = j->c.tolerance =
            fmax(j->tolerance, 10 * fabs(want - moved) / fmax(1, fabs(want)));
        j->unreliable++;
        return true;
    }
    snprintf(message, sizeof message,
             "%s = %.12g, dual numbers %.12g, of terms that add up to %.3g (seed %u%s)", what, got,
             want, terms, j->c.seed, j->c.seeded ? ", random cotangents" : "");
    return fail(j, "dual");
}

static bool element_agrees(job *j, directions *a, uint32_t i)
{
    char what[300];
    for (uint32_t k = 0; k < a->n; k++) *a->places[k].dot = 0;
    *a->places[i].dot = 1;
    snprintf(what, sizeof what, "%s[%llu]", a->places[i].name,
             (unsigned long long)a->places[i].element);
    return agrees_along(j, a, what);
}

// `random` directions over all inputs and `single` elements of the gradient g.
static bool check_dual(job *j, const vy_program *p, const image *x, const image *g, const bool *of,
                       const char *prefix, uint32_t random, uint32_t single)
{
    directions a = {.p = p, .x = x, .of = of};
    tangents_make(p, x, &a.t);
    a.n = places_of(j, p, x, g, prefix, &a.t, &a.places);
    uint64_t s = j->c.seed * 1000033u + 5;
    bool ok = true;
    for (uint32_t r = 0; ok && a.n && r < random; r++) {
        for (uint32_t i = 0; i < a.n; i++)
            *a.places[i].dot = (double)(next_random(&s) >> 11) * 0x1p-52 - 1;
        ok = agrees_along(j, &a, "the gradient along a direction");
        for (uint32_t i = 0; !ok && i < a.n; i++) // which element is it?
            if (!element_agrees(j, &a, i)) break;
    }
    for (uint32_t k = 0; ok && a.n && k < single; k++)
        ok =
            element_agrees(j, &a, k < a.n && single >= a.n ? k : (uint32_t)(next_random(&s) % a.n));
    tangents_free(&a.t);
    free(a.places);
    return ok;
}

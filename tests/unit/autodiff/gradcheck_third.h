// SPDX-License-Identifier: MIT
// gradcheck_third.h: derivatives of the third order, in all modes; part of gradcheck_file.c.
//
//   third    the gradient, or the forward derivative, of a second derivative that was made either
//            way at either order: each must agree with dual numbers of what it is the derivative
//            of, or be refused with a reason, as written and optimised
// Those are the eight words of three letters, of which a program gets all, or in a stream one or
// two at every order.
enum { THIRD = 3, MOST_PARAMETERS = MOST_BUFFERS - 4 };

typedef struct deriving {
    job *j;
    const vy_module *m; // the derivative so far
    const image *x;     // its data
    uint32_t order;
    char word[THIRD + 1]; // how it was made: `g` in reverse, `j` forwards
} deriving;

static bool derive_further(const deriving *a);

static bool third_fails(const deriving *a, const char *way)
{
    if (getenv("GRADCHECK_PRINT")) {
        char *text = vy_print(a->m, NULL);
        fprintf(stderr, "%s\n", text ? text : "");
        free(text);
    }
    char was[sizeof message];
    memcpy(was, message, sizeof message);
    snprintf(message, sizeof message, "%s%s: %.*s", a->word, way, (int)sizeof message - 20, was);
    return fail(a->j, "third");
}

static deriving further(const deriving *a, const vy_module *m, const image *x, char letter)
{
    deriving next = {.j = a->j, .m = m, .x = x, .order = a->order + 1};
    memcpy(next.word, a->word, THIRD);
    next.word[a->order] = letter;
    return next;
}

static bool gradient_agrees(const deriving *a, vy_module *made, bool optimise)
{
    image got;
    if (optimise && !optimised(made, 2, true)) return third_fails(a, "g");
    if (!agrees_with_dual(a->j, result_of(a->m), made, a->x, &got, "third"))
        return third_fails(a, optimise ? "g -O2" : "g");
    image_free(&got);
    return true;
}

// The gradient of the derivative so far; what comes after it.
static bool reverse_further(const deriving *a)
{
    job *j = a->j;
    const vy_accumulate how = alternate(j, 2) ? VY_ACCUMULATE_AUTO : VY_ACCUMULATE_ATOMIC;
    vy_module *made = derived_so(j, a->m, &j->c, how, false, "third");
    if (!made) return !j->oracle || third_fails(a, "g");
    const vy_program *p = result_of(made);
    bool ok = true;
    if (vy_program_buffer_count(p) <= MOST_PARAMETERS) {
        image start;
        start_again(j, p, a->x, &start);
        if (a->order) ok = gradient_agrees(a, made, false);
        const deriving next = further(a, made, &start, 'g');
        ok = ok && derive_further(&next);
        image_free(&start);
        if (ok && a->order + 1 == THIRD) {
            ok = gradient_agrees(a, made, true);
            j->thirds += ok;
        }
    }
    vy_module_free(made);
    return ok;
}

static bool forward_further(const deriving *a)
{
    job *j = a->j;
    bool of[MOST_BUFFERS] = {false}, transposed;
    gradcheck c = j->c;
    vy_diag d = {0};
    c.subgroup = launch.subgroup_size;
    c.tolerance = j->tolerance;
    c.optimised = alternate(j, 2);
    requested(j, a->x, of);
    const vy_grad_options o = request(&j->c, a->m);
    vy_module *made = vy_jvp(a->m, &o, &d);
    if (!made) {
        snprintf(message, sizeof message, "%s %s", d.code, d.text);
        if (is_refusal(&d)) note(j, "third", &d);
        return is_refusal(&d) || third_fails(a, "j");
    }
    bool ok = vy_program_buffer_count(result_of(made)) > MOST_PARAMETERS;
    if (!ok &&
        (!a->order || check_tangents(&c, a->m, result_of(a->m), a->x, of, NULL, &d, &transposed))) {
        image start;
        start_tangents(&j->c, result_of(made), a->x, &start);
        const deriving next = further(a, made, &start, 'j');
        ok = derive_further(&next);
        image_free(&start);
        j->thirds += ok && a->order + 1 == THIRD;
    } else if (!ok) {
        third_fails(a, "j");
    }
    vy_module_free(made);
    return ok;
}

static bool derive_further(const deriving *a)
{
    job *j = a->j;
    const gradcheck was = j->c;
    const char last = a->order ? a->word[a->order - 1] : 0;
    const uint32_t ways = j->thorough || alternate(j, 4) == 0 ? 3 : 1 + alternate(j, 2);
    if (a->order == THIRD || j->oracle) return !j->oracle;
    bool ok = !last || request_of(result_of(a->m), &j->c, last == 'g' ? is_gradient : is_tangent);
    if (ok && ways & 1) reverse_further(a);
    if (ok && ways & 2 && !j->oracle) forward_further(a);
    j->c = was;
    return !j->oracle;
}

static bool check_third(job *j, const vy_module *m)
{
    const deriving first = {j, m, &j->launches[0].x, 0, ""};
    use_launch(j, 0);
    return derive_further(&first);
}

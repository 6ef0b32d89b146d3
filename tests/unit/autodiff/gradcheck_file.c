// SPDX-License-Identifier: MIT
// gradcheck_file.c: all oracles for programs that need nothing but the interpreter.
//
//   gradcheck_file [--seeds N] [--first-seed S] FILE…      every oracle in full
//   gradcheck_file --stream                                programs from stdin, for
//                                                          tests/fuzz/oracle.py
//
// Prints a line per program: `NAME: ok …`, `NAME: refused CODE …`, `NAME: invalid …` (the program
// itself is wrong) or `NAME: FAIL ORACLE …`; exit 1 if one failed.  A stream is a sequence of
// `NAME BYTES\n` followed by that many bytes of text; each program is answered before the next is
// read.  In a stream every program passes every oracle and every way to the gradient, but of
// variants (levels of optimisation, sizes of workgroups, orders of parameters) each program gets
// only some, different ones from program to program.
//   print    parse(print(p)) prints the same, p as written and optimised, and so for the gradient;
//            the binary form reads back equal
//   primal   levels 0 … 3 give the same bits
//   dual     the gradient against forward dual numbers, all floats in double: gradcheck_dual.h
//   fd       against finite differences, for files only; inputs whose probes take a different path
//            from the centre are kinks and not compared
//   levels   the gradient at levels 1 … 3 equals the unoptimised one, to rounding; also with the
//            options that devices need: chunked loops, workgroup rows padded to full subgroups,
//            subgroup sums
//   text     the gradient's text, parsed again, gives the same bits
//   told     whatever passes are told of launches and devices: gradcheck_told.h
//   twice    a second run gives the same; inputs are unchanged
//   order    workgroups in another order give the same, to rounding, primal and gradient
//   value    outputs requested together with the gradient are the program's
//   jvp      forward mode (vy_jvp) against dual numbers, and its gradient with respect to the
//            tangents against the program's: gradcheck_tangents.h
//   second, mixed   the gradient and the forward derivative can be differentiated again, in both
//            modes, or are refused with a reason; against dual numbers: gradcheck_second.h
//   third    derivatives of the third order, for texts with `only: third`: gradcheck_third.h
//   forward  the program itself with its sums in a fixed order: gradcheck_forward.h
//   ends, constants   what the compiler claims about a program beside its numbers:
//            gradcheck_claims.h
//   atomic, gather, batches, deterministic, permuted   other ways to the gradient: gradcheck_modes.h
//   proofs   in every run: accesses proved in range are in range; elements proved zero are zero;
//            additions proved exclusive, which are not atomic on a device, do not race
//   range    in every run: a derivative of a program that accesses nothing out of range does not
//            either, optimised as with --unchecked: gradcheck_range.h
//   clear    in every run: out buffers that no runtime clears, because the program provably writes
//            every element, start as NaN, and no NaN is left
//
// Comment lines of a text set the data:
//   // set: N=5 s=0.7            scalars
//   // data: at=1,-2,9           contents of a buffer, repeated cyclically
//   // of: y                     outputs to differentiate
//   // wrt: x,s                  inputs to differentiate with respect to
//   // tolerance: 1e-4
//   // seed: 7                   of made-up data; overrides --first-seed
//   // groups: 2,1,1             for programs without `over`
//   // subgroup: 8               lanes
//   // permutation: p,q          integer buffers that hold a permutation of 0 … count−1
//   // unknown: 9                elements of `?` buffers
//   // launch: N=9 groups=3,1,1  run the same gradients at these sizes too
//   // only: brief               primal, value and gradient: for the types as written
//   // only: ways                whether all ways agree
//   // only: jvp                 forward mode
//   // only: third               third derivatives in all modes
//   // program: NAME             instead of the last one
#include "tests/unit/autodiff/gradcheck.c" // its images and data

#include <ctype.h>

#include "autodiff/deterministic.h"
#include "ir/pass/device/coarsen.h"
#include "ir/eval/eval.h"
#include "ir/pass/pass.h"
bool vy_fully_written(const vy_program *p,
                      uint32_t buffer); // spirv/emit/emit.h has types of the same names
#include "tests/told_sizes.h"
#include "tests/unit/autodiff/gradcheck_directives.h"
#include "tests/unit/autodiff/gradcheck_run.h"

// Inputs tried per buffer where differences are taken.
enum { MOST_ELEMENTS = 40, FEW_ELEMENTS = 5 };

#include "tests/unit/autodiff/gradcheck_oracles.h"
#include "tests/unit/autodiff/gradcheck_claims.h"
#include "tests/unit/autodiff/gradcheck_range.h"
#include "tests/unit/autodiff/gradcheck_dual.h"
#include "tests/unit/autodiff/gradcheck_permute.h"

#include "tests/unit/autodiff/gradcheck_modes.h"
#include "tests/unit/autodiff/gradcheck_told.h"
#include "tests/unit/autodiff/gradcheck_forward.h"
#include "tests/unit/autodiff/gradcheck_second.h"
#include "tests/unit/autodiff/gradcheck_third.h"
#include "autodiff/grad.h"
#include "spirv/facts/facts.h"

static vy_module *derive(job *j, const vy_module *m, bool with_value, vy_diag *d)
{
    vy_grad_options o = request(&j->c, m);
    o.with_value = with_value;
    return vy_grad(m, &o, d);
}

// The gradient of `gm` at a level, and what its text says.
static bool check_level(job *j, vy_module *gm, int level)
{
    char which[40];
    snprintf(which, sizeof which, "-O%d", level);
    if (!optimised(gm, level, true)) return fail(j, "optimise");
    if (level && !agrees(j, gm, "levels", which)) return false;
    if (level % 2) return true;
    const uint32_t at = alternate(j, j->launch_count);
    const image *x = &j->launches[at].x;
    use_launch(j, at);
    vy_module *again = NULL;
    image mine;
    bool ok = round_trip(j, gm, "gradient", &again) && gradient_of(j, gm, x, &mine, "text");
    if (ok) {
        ok = same_gradient(j, again, x, &mine, 0, "text", "from its text");
        image_free(&mine);
    }
    vy_module_free(again);
    return ok;
}

// All levels, or one that alternates; `gm`, the default way, is reused for the last.
static bool check_levels(job *j, const vy_module *m, vy_module *gm)
{
    bool ok = true;
    for (int level = 0; ok && j->thorough && level < 3; level++) {
        vy_diag d;
        vy_module *mine = derive(j, m, false, &d);
        ok = check_level(j, mine, level);
        vy_module_free(mine);
    }
    return ok && check_level(j, gm, j->thorough ? 3 : (int)alternate(j, 4));
}

// Outputs requested together with gradients are the forward program's, bit for bit except for
// float atomics.
static bool check_value(job *j, const vy_module *m, const image *x)
{
    vy_diag d;
    vy_module *gm = derive(j, m, true, &d);
    if (!gm) {
        snprintf(message, sizeof message, "with value: %s [%s]", d.text, d.code);
        return fail(j, "value");
    }
    const vy_program *p = last_program(m);
    image g, forward;
    copy_image(p, x, false, &forward);
    bool ok = run_on(p, &forward, true, NOTHING, NULL) && gradient_of(j, gm, x, &g, "value");
    if (ok) {
        const vy_program *gp = result_of(gm);
        for (uint32_t i = 0; i < g.n; i++) // floats that are only read are not outputs
            if (!chosen(j->c.of, g.buffers[i].name, true)) g.buffers[i].name = "";
        const double bound = bound_between_levels(j, p, false); // sums may come in another order
        const char *how =
            differs(p, &forward, &g, false, fmax(bound, adds_atomically(p) ? 1e-12 : 0));
        if (how) {
            snprintf(message, sizeof message, "%s alone and with the gradient (%s)", how,
                     vy_program_name(gp));
            ok = fail(j, "value");
        }
        image_free(&g);
    }
    image_free(&forward);
    vy_module_free(gm);
    return ok;
}

static bool check_default(job *j, const vy_module *m, const vy_module *gm)
{
    for (uint32_t k = 0; k < j->launch_count; k++) {
        job_launch *l = &j->launches[k];
        use_launch(j, k);
        if (!gradient_of(j, gm, &l->x, &l->g, "gradient")) return false;
        if (!check_dual(j, last_program(m), &l->x, &l->g, l->of, "grad_", k ? 1 : 2,
                        j->thorough ? 1000
                        : k         ? 2
                                    : 4))
            return false;
        if (!check_ends(j, last_program(m), &l->g)) return false;
        if (j->ways_only) continue;
        if (j->thorough && !check_fd(j, last_program(m), &l->x, &l->g, l->of,
                                     k ? FEW_ELEMENTS : MOST_ELEMENTS, "grad_"))
            return false;
        if (!check_again(j, gm, &l->x, &l->g)) return false;
    }
    return true;
}

static bool check_ways(job *j, const vy_module *m, const vy_module *gm)
{
    if (j->brief) return true;
    return check_accumulated(j, m, VY_ACCUMULATE_ATOMIC, "atomic") &&
           check_accumulated(j, m, VY_ACCUMULATE_GATHER, "gather") && check_batches(j, m) &&
           check_deterministic(j, m) && check_permuted(j, m, gm);
}

// An atomic's old value has no derivative, nor has what depends on it or on the order of accesses,
// nor has a bitcast of floats.
static bool refused_rightly(const vy_diag *d)
{
    return strstr(d->text, "old value of atomic") ||
           strstr(d->text, "depends on which comes first") || strstr(d->text, "through a bitcast");
}

static void refused(job *j, const vy_module *m, const vy_diag *d)
{
    snprintf(message, sizeof message, "%s %u:%u %s", d->code, d->line, d->column, d->text);
    fail(j, refused_rightly(d) || j->ways_only ? "refused" : "grad");
    char was[sizeof message];
    memcpy(was, message, sizeof message);
    for (vy_accumulate how = VY_ACCUMULATE_ATOMIC; how <= VY_ACCUMULATE_GATHER; how++) {
        vy_grad_options o = request(&j->c, m);
        vy_diag other;
        o.accumulate = how;
        vy_module *gm = vy_grad(m, &o, &other);
        if (gm)
            note(j, how == VY_ACCUMULATE_ATOMIC ? "not atomic but auto" : "not gather but auto", d);
        vy_module_free(gm);
    }
    memcpy(message, was, sizeof message);
}

// Forward mode at every size; gm: the gradient whose results the launches have, or NULL.
static bool check_jvp(job *j, const vy_module *m, const vy_module *gm)
{
    bool ok = true;
    vy_diag d = {0};
    for (uint32_t k = 0; ok && k < j->launch_count && d.severity != VY_ERROR; k++) {
        use_launch(j, k);
        gradcheck c = j->c;
        c.subgroup = launch.subgroup_size;
        c.tolerance = j->tolerance;
        const job_launch *l = &j->launches[k];
        bool transposed;
        const gradient g = {gm ? result_of(gm) : NULL, &l->g};
        ok = check_tangents(&c, m, last_program(m), &l->x, l->of, gm && l->g.n ? &g : NULL, &d,
                            &transposed);
        j->transposed += k == 0 && ok && transposed;
    }
    use_launch(j, 0);
    if (!ok) return fail(j, "jvp");
    if (d.severity == VY_ERROR && !is_refusal(&d)) {
        snprintf(message, sizeof message, "forward mode: %s %s", d.code, d.text);
        return fail(j, "jvp");
    }
    if (d.severity == VY_ERROR) note(j, "jvp", &d);
    j->forwards += d.severity != VY_ERROR;
    return true;
}

static bool check_seed(job *j, const vy_module *m, bool first)
{
    const vy_program *p = last_program(m);
    const image *x = &j->launches[0].x;
    use_launch(j, 0);
    bool ok = true;
    if (j->tangents) return check_jvp(j, m, NULL);
    if (j->third_only) return !first || check_third(j, m);
    if (first && !j->ways_only)
        ok = (j->brief || check_primal(j, x, false)) && check_primal(j, x, true) &&
             check_primal_order(j, p, x) && check_constants(j, m) &&
             (j->brief || check_forward(j, m));
    if (!ok) return false;
    vy_diag d;
    vy_module *gm = derive(j, m, false, &d);
    if (!gm) {
        refused(j, m, &d);
        return false;
    }
    note_ways(j, gm, false);
    ok = check_default(j, m, gm) && (!first || j->ways_only || check_jvp(j, m, gm)) &&
         (!first || check_ways(j, m, gm));
    use_launch(j, 0);
    if (ok && first && !j->ways_only) {
        const bool value = j->thorough || alternate(j, j->brief ? 2 : 4) == 0;
        ok = (!value || check_value(j, m, x)) && (j->brief || check_second(j, m)) &&
             check_told(j, m) && check_levels(j, m, gm);
    }
    for (uint32_t k = 0; k < j->launch_count; k++) {
        image_free(&j->launches[k].g);
        j->launches[k].g.n = 0;
    }
    vy_module_free(gm);
    return ok;
}

// Folded constants are rounded to their own types even where the rest is computed in double, and
// chaos and cancellation amplify that rounding.  If running a program in its own types moves its
// outputs beyond the tolerance (`x` goes in, `wide` came out in double), the tolerance is widened
// to ten times the difference.
static bool widen_tolerance(job *j, const vy_program *p, const image *x, const image *wide)
{
    image typed;
    copy_image(p, x, true, &typed);
    const bool ok = run_on(p, &typed, false, NOTHING, NULL);
    const double moved = ok ? spread(p, &typed, wide) : 0;
    image_free(&typed);
    if (moved <= j->tolerance) return ok;
    j->tolerance = j->c.tolerance = 10 * moved;
    j->unreliable++;
    return true;
}

// Does the text state derivatives?  They may be meant to differ from those of the code.
static bool states_derivatives(const vy_module *m)
{
    bool any = m->functions.count > 0;
    for (uint32_t i = 0; i < m->programs.count; i++)
        for (uint32_t k = 0; k < VY_RULES_OF; k++) any |= m->programs.data[i]->rules[k] != NULL;
    if (any) snprintf(message, sizeof message, "derivatives that a text states are its own");
    return any;
}

// At these sizes, is an extent of a parameter negative?  A launch refuses such sizes.
static bool is_negative_somewhere(const gradcheck *c, const vy_program *p)
{
    for (uint32_t i = 1; i < p->buffers.count; i++)
        for (uint32_t k = 0; k < p->buffers.data[i].rank; k++)
            if (dim_value(c, p, p->buffers.data[i].dims[k].id) < 0) return true;
    return false;
}

// Makes the data of all launches; on it the program must neither race nor read unwritten memory.
static bool prepare(job *j, const vy_module *m)
{
    const vy_program *p = last_program(m);
    bool any_left = stays_in_range = false;
    if (states_derivatives(m)) return false;
    for (uint32_t k = 0; k < j->launch_count; k++) {
        job_launch *l = &j->launches[k];
        image forward;
        use_launch(j, k);
        image_free(&l->x);
        l->x.n = 0;
        if (is_negative_somewhere(&j->c, p)) {
            snprintf(message, sizeof message, "an extent is negative at these sizes");
            return false;
        }
        make_image(&j->c, p, &l->x);
        fill_job(j, p, &l->x);
        for (uint32_t i = 0; i < l->x.n; i++) {
            vy_buffer b = vy_program_find_buffer(p, l->x.buffers[i].name);
            l->of[i] = chosen(j->c.of, l->x.buffers[i].name, vy_grad_default_of(p, b));
        }
        copy_image(p, &l->x, false, &forward);
        bool ok = run_on(p, &forward, true, EVERYTHING, NULL);
        any_left |= left_range;
        if (ok && j->tolerance > 1e-8) ok = widen_tolerance(j, p, &l->x, &forward);
        image_free(&forward);
        if (!ok) return false;
    }
    stays_in_range = !any_left && is_in_range_hoisted(j, true) && is_in_range_hoisted(j, false);
    return true;
}

static void answer(const job *j, const char *name, bool ok, bool invalid)
{
    if (invalid)
        printf("%s: invalid %s\n", name, message);
    else if (ok)
        printf(
            "%s: ok %u compared, %u kinks, %u unreliable, %u unordered, %u ways, %u axes, %u forwards, "
            "%u transposed, %u second, %u mixed, %u third, "
            "%u gathered, %u atomic, %u plain, %u ordered, %u ranged%s\n",
            name, j->compared, j->kinks, j->unreliable, j->unordered, j->ways, j->axes, j->forwards,
            j->transposed, j->seconds, j->mixed, j->thirds, j->gathered, j->atomic, j->plain,
            j->ordered, stays_in_range, j->notes);
    else if (strcmp(j->oracle, "refused") == 0)
        printf("%s: refused %s%s\n", name, message, j->notes);
    else
        printf("%s: FAIL %s %s\n", name, j->oracle, message);
    fflush(stdout);
}

static bool check_text(const char *name, char *text, bool thorough, uint32_t first, uint32_t seeds)
{
    job *j = calloc(1, sizeof *j);
    j->text = text;
    j->words = calloc(1, strlen(text) + 2);
    j->thorough = thorough;
    read_directives(j, &first);
    named = directive(j, "program");
    vy_module *m = parsed(text, "parse");
    bool ok = m != NULL, invalid = !ok;
    for (uint32_t s = 0; ok && s < seeds; s++) {
        j->c.seed = first + s;
        j->c.seeded = thorough ? s % 2 : first % 2;
        ok = !(invalid = !prepare(j, m)) && check_seed(j, m, s == 0);
    }
    if (!ok && j->ways_only && strstr(message, "gave up after"))
        invalid = true; // the program is too long
    answer(j, name, ok, invalid);
    ok = ok || invalid || strcmp(j->oracle, "refused") == 0;
    for (uint32_t k = 0; k < j->launch_count; k++) {
        image_free(&j->launches[k].x);
        image_free(&j->launches[k].g);
    }
    vy_module_free(m);
    free(j->words);
    free(j);
    return ok;
}

static bool check_file(const char *path, uint32_t first, uint32_t seeds)
{
    FILE *f = fopen(path, "rb");
    char *text = f ? calloc(1, 1 << 20) : NULL;
    const bool read = text && fread(text, 1, (1 << 20) - 1, f) > 0;
    if (f) fclose(f);
    if (!read) printf("%s: FAIL read\n", path);
    const bool ok = read && check_text(path, text, true, first, seeds);
    free(text);
    return ok;
}

static int check_stream(void)
{
    char name[200];
    size_t bytes;
    int status = 0;
    while (scanf("%199s %zu", name, &bytes) == 2 && getchar() == '\n') {
        char *text = calloc(1, bytes + 1);
        if (!text || fread(text, 1, bytes, stdin) != bytes) return 2;
        if (!check_text(name, text, false, 1, 1)) status = 1;
        free(text);
    }
    return status;
}

int main(int argc, char **argv)
{
    uint32_t seeds = 2, first = 1;
    int status = 0;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--seeds") == 0 && i + 1 < argc)
            seeds = (uint32_t)atoi(argv[++i]);
        else if (strcmp(argv[i], "--first-seed") == 0 && i + 1 < argc)
            first = (uint32_t)atoi(argv[++i]);
        else if (strcmp(argv[i], "--stream") == 0)
            return check_stream();
        else if (!check_file(argv[i], first, seeds))
            status = 1;
    }
    return status;
}

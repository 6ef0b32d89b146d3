// SPDX-License-Identifier: MIT
// build_program.c: a program made from C, without any text; printed, differentiated, evaluated.
//
//   build_program                prints the program, its gradient, and the gradient's values
//   build_program --print FILE   writes the program's text to FILE as well
//
// What it builds: the logarithm of a mixture of K Gaussians of width s on a line, for N points.
//
//   loss = Σ_i log Σ_k w_k exp(−½ ((x_i − c_k)/s)²)        terms below 1e-6 are left out
#include "autodiff/grad.h"
#include "ir/vyre.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { POINTS = 5, CENTRES = 2 };

static vy_value call(vy_builder *b, const char *function, vy_value x)
{
    return vy_call(b, function, 1, &x);
}

// Calls are not checked one by one: the first error sticks in the module, and main checks once.
static void build_mixture(vy_module *m)
{
    vy_builder *b = vy_program_begin(m, "mixture");
    vy_value points = vy_param_scalar(b, "N", VY_U32), centres = vy_param_scalar(b, "K", VY_U32);
    vy_value s = vy_param_scalar(b, "s", VY_F32);
    vy_dim N = vy_dim_value(b, points), K = vy_dim_value(b, centres), one = vy_dim_const(b, 1);
    vy_buffer x = vy_param_buffer(b, "x", VY_IN, VY_F32, 1, &N);
    vy_buffer c = vy_param_buffer(b, "c", VY_IN, VY_F32, 1, &K);
    vy_buffer w = vy_param_buffer(b, "w", VY_IN, VY_F32, 1, &K);
    vy_buffer loss = vy_param_buffer(b, "loss", VY_OUT, VY_F32, 1, &one);
    vy_value i = vy_over(b, "i", N);

    vy_value zero = vy_zero(b, VY_U32);
    vy_var density = vy_var_new(b, "density", vy_float(b, VY_F32, 0));
    vy_value k = vy_for(b, "k", zero, centres);
    {
        vy_value d = vy_div(b, vy_sub(b, vy_load(b, x, &i), vy_load(b, c, &k)), s);
        vy_value half = vy_float(b, VY_F32, 0.5);
        vy_value bell = call(b, "exp", vy_neg(b, vy_mul(b, half, vy_mul(b, d, d))));
        vy_name(b, bell, "bell");
        vy_if(b, vy_lt(b, bell, vy_float(b, VY_F32, 1e-6)));
        vy_continue(b);
        vy_end(b);
        vy_set(b, density, vy_add(b, vy_get(b, density), vy_mul(b, vy_load(b, w, &k), bell)));
    }
    vy_end(b);
    vy_atomic(b, "add", loss, &zero, call(b, "log", vy_get(b, density)));
    vy_program_end(b);
}

static bool show(const vy_diag *d)
{
    char message[2000];
    vy_diag_format(d, "build_program", NULL, 0, false, message, sizeof message);
    fprintf(stderr, "%s", message);
    return false;
}

static bool print_module(const vy_module *m, const char *path)
{
    char *text = vy_print(m, NULL);
    FILE *f = !text ? NULL : path ? fopen(path, "w") : stdout;
    bool ok = f && fputs(text, f) >= 0;
    if (f && f != stdout) ok = fclose(f) == 0 && ok;
    if (!ok) fprintf(stderr, "cannot write %s\n", path ? path : "the program");
    free(text);
    return ok;
}

static void print_floats(const char *name, const float *v, int count)
{
    printf("%s =", name);
    for (int i = 0; i < count; i++) printf(" %.9g", (double)v[i]);
    printf("\n");
}

// Runs the gradient in the reference interpreter, which needs no device.
static bool evaluate(const vy_program *gradient)
{
    float x[POINTS] = {-1, -0.5f, 0.25f, 1, 1.75f}, c[CENTRES] = {-0.5f, 1},
          w[CENTRES] = {0.25f, 0.75f};
    float grad_x[POINTS], grad_c[CENTRES], grad_w[CENTRES];
    const uint64_t n = POINTS, k = CENTRES;
    const vy_eval_buffer buffers[] = {
        {"x", x, &n, 1},           {"c", c, &k, 1},           {"w", w, &k, 1},
        {"grad_x", grad_x, &n, 1}, {"grad_c", grad_c, &k, 1}, {"grad_w", grad_w, &k, 1},
    };
    const vy_eval_scalar scalars[] = {{"s", {.f = 0.5}}}; // N and K follow from the shapes
    vy_diag d = {0};
    if (!vy_eval(gradient, buffers, 6, scalars, 1, NULL, NULL, &d)) return show(&d);
    print_floats("grad_x", grad_x, POINTS);
    print_floats("grad_c", grad_c, CENTRES);
    print_floats("grad_w", grad_w, CENTRES);
    return true;
}

int main(int argc, char **argv)
{
    const char *path = argc == 3 && strcmp(argv[1], "--print") == 0 ? argv[2] : NULL;
    vy_diag d = {0};
    vy_module *m = vy_module_new(), *gradient = NULL;
    if (!m) return 2;
    build_mixture(m);
    bool ok = vy_module_check(m) || show(vy_module_diag(m));
    ok = ok && (!path || print_module(m, path)) && print_module(m, NULL);
    if (ok) gradient = vy_grad(m, &(vy_grad_options){0}, &d);
    if (ok && !gradient) ok = show(&d);
    ok = ok &&
         (vy_optimize(gradient, &(vy_opt_options){.level = 2}) || show(vy_module_diag(gradient)));
    ok = ok && print_module(gradient, NULL) && evaluate(vy_module_program(gradient, 0));
    vy_module_free(gradient);
    vy_module_free(m);
    return !ok;
}

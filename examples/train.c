// SPDX-License-Identifier: MIT
// train.c: a training in a dozen lines of C: the straight line through eight points.
//
//   train          prints the line and the loss of its last step
//
// `fit` is the point; vyre-grad fit does the same from the command line.
#include "session/fit.h"

#include <stdio.h>
#include <string.h>

static const char program[] =
    "program mse(x: in f32[N], y: in f32[N], w: in f32[2], loss: out f32[1], N: u32) over(i: N) {\n"
    "    let e = w[0] * x[i] + w[1] - y[i];\n"
    "    atomic_add(loss[0], e * e / f32(N));\n"
    "}\n";
enum { STEPS = 600 };

// The first error stays in *d, and the calls after it do nothing.
static bool fit(vys_session *s, const float x[8], const float y[8], float w[2], float losses[STEPS],
                vy_diag *d)
{
    vys_task *t;
    const char *params[] = {"w"};
    const vys_fit how = {.train = {.loss = "loss", .params = params, .param_count = 1, .lr = 0.1},
                         .steps = STEPS};
    bool ok = vys_fit_parse(s, program, sizeof program - 1, "mse", &how, NULL, &t, d) &&
              vys_set_flat(t, "x", VY_F32, 8, x, d) && vys_set_flat(t, "y", VY_F32, 8, y, d) &&
              vys_set_flat(t, "w", VY_F32, 2, w, d) && vys_run(t, d) &&
              vys_read(t, "w", VY_F32, w, 2 * sizeof *w, d) &&
              vys_read(t, "losses", VY_F32, losses, STEPS * sizeof *losses, d);
    vys_task_free(t);
    return ok;
}

int main(void)
{
    const float x[] = {0, 1, 2, 3, 4, 5, 6, 7}, y[] = {1.2f, 3, 5.1f, 7, 9.1f, 10.9f, 13, 15};
    float w[2] = {0}, losses[STEPS];
    vys_session *s;
    vy_diag d = {0};
    char message[2000];
    const bool ok = vys_open(NULL, &s, &d) && fit(s, x, y, w, losses, &d);
    if (ok) printf("w = %.6g %.6g\nloss = %.6g\n", w[0], w[1], losses[STEPS - 1]);
    vy_diag_format(&d, "mse", program, sizeof program - 1, false, message, sizeof message);
    if (!ok) fprintf(stderr, "%s", message);
    const bool silent = !s || !vys_session_message(s, 0); // with VYRE_VALIDATION=1
    vys_close(s);
    return !(ok && silent);
}

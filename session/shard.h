// SPDX-License-Identifier: MIT
// shard.h: rows of a training's data as trainings of their own.
//
// Buffers whose first dimension is one and the same scalar, N rows, are cut into parts of about as
// many rows; to each part the program is what it would be with these data alone, and N is the rows
// of the part.  The loss of all rows must follow from the losses of the parts, and so must its
// gradient: as their mean, weighted by rows, where the program divides by N, or as their sum.
// Whether it does is measured on some rows before the training (vys_shard_check): a program in
// which rows meet in other ways (neighbours, norms over all of them) is refused.
#ifndef VYRE_SESSION_SHARD_H
#define VYRE_SESSION_SHARD_H

#include "session/runner.h"

#include "autodiff/train.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vys_shard {
    const char *const *names; // buffers with a row for each sample
    uint32_t count;
    bool sums;       // losses of parts add up; else their mean, weighted by rows, is the loss
    uint64_t rows;   // of all names, once vys_shard_rows has found out
    uint32_t scalar; // that counts them
} vys_shard;

// Fills `rows` and `scalar` from data whose shapes are known.  Errors: E0801 no such buffer, a
// parameter, no row count as its first dimension; E0806 another buffer has a row for each sample.
VYS_API bool vys_shard_rows(vys_shard *s, const vys_binding *whole, const char *const *params,
                            uint32_t param_count, vy_diag *d);
// Rows [*from, *from + *rows) of part `index` of `parts`: the first parts have one more.
VYS_API void vys_shard_part(const vys_shard *s, uint32_t index, uint32_t parts, uint64_t *from,
                            uint64_t *rows);
// The data of `what`, whose parameters are those of `whole`, for some of the rows.  Inputs refer to
// the arrays of `whole`.  vys_binding_free in every case.
VYS_API bool vys_shard_bind(vys_binding *b, const vys_shard *s, const vys_binding *whole,
                            vys_entry what, uint64_t from, uint64_t rows, vy_diag *d);
// Whether loss and gradients of some rows follow from those of two parts of them, as measured with
// the code of `like`, a runner of a training with `split`.  Errors: E0806.
VYS_API bool vys_shard_check(const vys_shard *s, const vys_binding *whole, const vys_runner *like,
                             const vys_work *w, const vy_training *made, uint32_t gradients,
                             vy_diag *d);

#ifdef __cplusplus
}
#endif
#endif

// SPDX-License-Identifier: MIT
// explain_keep.c: under `--checkpoint auto`, `explain` explains what `run` would run with these
// sizes: of what is kept, as much as `--tape-limit` leaves room for.
#include "tools/verbs/explain/explain.h"

#include <inttypes.h>

static uint64_t limit_of(const command *c)
{
    return c->o.tape_limit ? c->o.tape_limit : (uint64_t)1 << 30;
}

// Where a size is open only the run can decide, and keeps what is fastest until it has.
static bool is_over(const command *c, const vy_amount *bytes)
{
    return bytes->known && bytes->value > limit_of(c);
}

bool explain_with_less(command *c, const vy_amount *bytes)
{
    vy_diag d = {0};
    if (c->o.checkpoint != CHECKPOINT_AUTO || !is_over(c, bytes)) return false;
    fail(&d, TOOL_TAPE, "", "%" PRIu64 " bytes; the limit is %" PRIu64, bytes->value, limit_of(c));
    return derive_with_less(c, &d);
}

static const char *const words[] = {
    [VYS_STORE_FASTEST] = "what makes the reverse fastest",
    [VYS_STORE_LEAN] = "only what cannot be recomputed",
    [VYS_STORE_SQRT] = "√n states of long loops",
    [VYS_STORE_REVOLVE] = " of outermost repeats, at binomial positions (revolve)",
    [VYS_STORE_SEGMENTS] = "states of segments of segments of long loops",
};

void explain_keep_text(const command *c, const vy_amount *bytes, text *out)
{
    uint32_t states;
    const vys_store how = vys_stores(&c->work, &states);
    if (c->o.checkpoint != CHECKPOINT_AUTO) return;
    if (how != VYS_STORE_FASTEST || c->work.batches) {
        text_puts(out, "  kept: ");
        if (states) text_printf(out, "%" PRIu32 " state%s", states, states > 1 ? "s" : "");
        text_puts(out, words[how]);
        if (c->work.batches) text_printf(out, ", in %" PRIu32 " batches", c->work.batches);
        text_printf(out, ", as the limit is %" PRIu64 " bytes (--tape-limit)\n", limit_of(c));
    }
    if (is_over(c, bytes))
        text_printf(out, "  that is more than the limit: `run` refuses it (E0811)\n");
}

bool explain_keep_json(const command *c, const vy_amount *bytes, cJSON *top)
{
    static const char *const names[] = {"fastest", "lean", "sqrt", "revolve", "segments"};
    uint32_t states;
    const vys_store how = vys_stores(&c->work, &states);
    if (c->o.checkpoint != CHECKPOINT_AUTO) return true;
    cJSON *o = cJSON_AddObjectToObject(top, "keep");
    return o && json_string(o, "how", names[how]) && json_integer(o, "states", states) &&
           json_integer(o, "batches", c->work.batches) &&
           json_integer(o, "tape_limit", limit_of(c)) &&
           cJSON_AddBoolToObject(o, "fits", !is_over(c, bytes));
}

// SPDX-License-Identifier: MIT
// bench_print.c: what `vyre-grad bench` found, as text and as JSON.
#include "tools/verbs/bench/bench.h"
#include "tools/data/json_out.h"

static double per_ms(uint64_t amount, const lane *l) // 10⁹ per second
{
    return l->median > 0 ? (double)amount / l->median * 1e-6 : -1;
}

double lane_rate(const lane *l) { return per_ms(l->bytes, l); }

double lane_flop_rate(const lane *l) { return l->flops.known ? per_ms(l->flops.value, l) : -1; }

// Of a measured peak, as a fraction; negative: not known.
static double fraction(double rate, double most)
{
    return rate >= 0 && most > 0 ? rate * 1e9 / most : -1;
}

static double ratio(const lane *a, const lane *b)
{
    return a->ms && b->ms && b->median > 0 ? a->median / b->median : -1;
}

// What both gradients do at least, by the plan: the same bytes and operations, in different times.
typedef struct useful {
    double rate, flop_rate; // negative: the plan does not say
} useful;

static useful useful_of(const benchmark *b, uint32_t which)
{
    const lane *l = &b->lanes[which], *hand = &b->lanes[LANE_AGAINST];
    return (useful){b->stated_bytes ? per_ms(hand->bytes, l) : -1,
                    b->stated_flops ? per_ms(hand->flops.value, l) : -1};
}

// ------------------------------------------------------------------------------------------- JSON
static bool lane_fields(const lane *l, cJSON *o)
{
    return json_string(o, "program", vys_entry_name(l->data.what)) &&
           json_number(o, "ms", l->median, 6) && json_number(o, "min_ms", l->least, 6) &&
           json_number(o, "max_ms", l->most, 6) && json_number(o, "cpu_ms", l->cpu_median, 6) &&
           json_integer(o, "bytes", l->bytes) && json_number(o, "gb_per_s", lane_rate(l), 6) &&
           json_integer(o, "workspace_bytes", l->data.kept) &&
           (l->flops.known ? json_integer(o, "flops", l->flops.value)
                           : json_string(o, "flops", NULL)) &&
           cJSON_AddBoolToObject(o, "flops_at_most", l->flops.known && l->flops.atmost) &&
           json_number(o, "gflop_per_s", lane_flop_rate(l), 6);
}

static bool lane_json(const lane *l, cJSON *top)
{
    if (!l->ms) return cJSON_AddNullToObject(top, l->title) != NULL;
    cJSON *o = cJSON_AddObjectToObject(top, l->title);
    return o && lane_fields(l, o);
}

static bool fractions_json(const benchmark *b, uint32_t which, const char *key, cJSON *top)
{
    const useful u = useful_of(b, which);
    cJSON *o = cJSON_AddObjectToObject(top, key);
    return o && json_number(o, "bandwidth", fraction(u.rate, b->peak.bytes), 4) &&
           json_number(o, "arithmetic", fraction(u.flop_rate, b->peak.flops), 4);
}

static bool against_json(const benchmark *b, const command *c, cJSON *top)
{
    const lane *ours = &b->lanes[LANE_DERIVATIVE], *hand = &b->lanes[LANE_AGAINST];
    if (!hand->ms) return true;
    cJSON *o = cJSON_AddObjectToObject(top, "against");
    return o && json_string(o, "plan", c->o.against) && lane_fields(hand, o) &&
           json_number(o, "stated_gb_per_s", useful_of(b, LANE_AGAINST).rate, 6) &&
           json_number(o, "ratio", ratio(ours, hand), 4) &&
           json_integer(o, "compared", b->compared) && json_integer(o, "undefined", b->undefined) &&
           json_number(o, "difference", b->compared ? b->worst.relative : -1, 4) &&
           json_string(o, "difference_buffer", b->worst.buffer[0] ? b->worst.buffer : NULL) &&
           json_integer(o, "difference_index", b->worst.index) &&
           json_number(o, "tolerance", b->tolerance, 4) &&
           fractions_json(b, LANE_DERIVATIVE, "ours_of_peak", o) &&
           fractions_json(b, LANE_AGAINST, "of_peak", o);
}

static bool peak_json(const benchmark *b, cJSON *top)
{
    if (!(b->peak.bytes > 0)) return true;
    cJSON *o = cJSON_AddObjectToObject(top, "peak");
    return o && json_number(o, "gb_per_s", b->peak.bytes * 1e-9, 6) &&
           json_number(o, "gflop_per_s", b->peak.flops * 1e-9, 6);
}

static bool programs_json(const benchmark *b, const command *c, cJSON *top)
{
    const lane *lanes = b->lanes;
    if (!lanes[0].ms) return true; // --peak alone
    return json_integer(top, "runs", c->o.runs) && lane_json(&lanes[0], top) &&
           lane_json(&lanes[1], top) && json_number(top, "ratio", ratio(&lanes[1], &lanes[0]), 4) &&
           against_json(b, c, top);
}

static bool print_json(const benchmark *b, command *c, const char *device, vy_diag *d)
{
    cJSON *top = cJSON_CreateObject();
    const bool program = b->lanes[0].ms != NULL;
    bool ok = top &&
              (!program || json_string(top, "program", vys_entry_name(b->lanes[0].data.what))) &&
              json_string(top, "engine", c->o.engine == ENGINE_EVAL ? "eval" : "vulkan") &&
              json_string(top, "device", device) && programs_json(b, c, top) && peak_json(b, top);
    if (ok) return json_finish(top, &c->out) || fail_memory(d);
    cJSON_Delete(top);
    return fail_memory(d);
}

// ------------------------------------------------------------------------------------------- text
static void lane_text(const lane *l, uint64_t runs, text *out)
{
    if (!l->ms) return;
    text_printf(out, "%-9s %.4g ms", l->title, l->median);
    if (lane_rate(l) >= 0) text_printf(out, ", %.4g GB/s", lane_rate(l));
    if (lane_flop_rate(l) >= 0)
        text_printf(out, ", %s%.4g GFLOP/s", l->flops.atmost ? "at most " : "", lane_flop_rate(l));
    text_printf(out, " (median of %llu, %.4g to %.4g ms, %llu bytes", (unsigned long long)runs,
                l->least, l->most, (unsigned long long)l->bytes);
    if (l->data.kept) text_printf(out, ", workspace %llu", (unsigned long long)l->data.kept);
    if (l->flops.known) text_printf(out, ", %llu flops", (unsigned long long)l->flops.value);
    text_puts(out, ")\n");
}

static void fractions_text(const benchmark *b, uint32_t which, const char *name, text *out)
{
    const useful u = useful_of(b, which);
    const double bandwidth = fraction(u.rate, b->peak.bytes),
                 arithmetic = fraction(u.flop_rate, b->peak.flops);
    if (bandwidth < 0 && arithmetic < 0) return;
    text_printf(out, "%-9s", name);
    if (bandwidth >= 0) text_printf(out, " %.3g%% of peak bandwidth", 100 * bandwidth);
    if (arithmetic >= 0)
        text_printf(out, "%s %.3g%% of peak arithmetic", bandwidth >= 0 ? "," : "",
                    100 * arithmetic);
    text_puts(out, "\n");
}

static void against_text(const benchmark *b, text *out)
{
    const lane *ours = &b->lanes[LANE_DERIVATIVE], *hand = &b->lanes[LANE_AGAINST];
    if (!hand->ms) return;
    text_puts(out, "against   ");
    if (ratio(ours, hand) >= 0) text_printf(out, "%.3g (ours / by hand); ", ratio(ours, hand));
    if (b->compared)
        text_printf(out, "largest difference %.2g, of %s[%llu]", b->worst.relative, b->worst.buffer,
                    (unsigned long long)b->worst.index);
    else
        text_printf(out, "nothing compared: %s",
                    b->undefined ? "all elements are NaN on both sides"
                                 : "the gradients have no elements");
    if (b->compared && b->undefined)
        text_printf(out, "; %llu of %llu elements not compared: NaN on both sides",
                    (unsigned long long)b->undefined,
                    (unsigned long long)(b->compared + b->undefined));
    text_puts(out, "\n");
    fractions_text(b, LANE_DERIVATIVE, "ours", out);
    fractions_text(b, LANE_AGAINST, "by hand", out);
}

bool bench_print(const benchmark *b, command *c, const char *device, vy_diag *d)
{
    if (c->o.json) return print_json(b, c, device, d);
    text *out = &c->out;
    text_printf(out, "device    %s\n", device);
    if (b->peak.bytes > 0)
        text_printf(out, "peak      %.4g GB/s copied, %.4g GFLOP/s of multiply-adds\n",
                    b->peak.bytes * 1e-9, b->peak.flops * 1e-9);
    for (uint32_t i = 0; i < LANE_COUNT; i++) lane_text(&b->lanes[i], c->o.runs, out);
    if (ratio(&b->lanes[1], &b->lanes[0]) >= 0)
        text_printf(out, "ratio     %.3g\n", ratio(&b->lanes[1], &b->lanes[0]));
    against_text(b, out);
    return !out->failed || fail_memory(d);
}

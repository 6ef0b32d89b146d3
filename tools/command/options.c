// SPDX-License-Identifier: MIT
// options.c: one table of options; reading argv and --help both follow it.
#include "tools/command/options.h"

#include "tools/data/number.h"

#include "session/target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum option_kind {
    OPT_FLAG,   // bool
    OPT_TEXT,   // const char *, the last one counts
    OPT_NAMES,  // names, split at commas, appended
    OPT_LIST,   // names, appended as written
    OPT_CHOICE, // int: index in `argument`, "a|b|c"
    OPT_COUNT,  // uint64_t
} option_kind;

typedef struct option {
    char letter; // 0: none
    option_kind kind;
    uint16_t field; // offset in options
    uint32_t group; // the verbs that take it: those with this bit in their row of VERBS
    const char *name, *argument;
    const char *help; // NULL: known, but refused in this version, so not listed
} option;

#define ALL 0               // every verb
#define FILES TAKES_PROGRAM // the common options: docs/language.md 10.4
#define WRT TAKES_WRT
#define DATA TAKES_DATA
#define SIZES TAKES_SHAPES
#define GPU TAKES_DEVICE
#define VERB_BIT(id) (1u << 16 << VERB_##id) // a verb's own group, in no row
_Static_assert(VERB_COUNT <= 16, "groups of their own have 16 bits");
#define AT(field) offsetof(options, field)

// clang-format off
static const option table[] = {
    {'p', OPT_TEXT,   AT(program),       FILES, "--program",       "NAME",       "program or pipeline; default: the only one"},
    {0,   OPT_NAMES,  AT(of),            FILES, "--of",            "O[,O]",      "outputs; default: float out buffers, float inout ones it writes"},
    {0,   OPT_NAMES,  AT(wrt),           WRT,   "--wrt",           "W[,W]",      "inputs; default: all float in and inout buffers"},
    {0,   OPT_TEXT,   AT(name),          VERB_BIT(GRAD) | VERB_BIT(JVP), "--name", "NAME", "of the derivative; default: NAME_grad, NAME_jvp"},
    {'o', OPT_TEXT,   AT(output),        TAKES_OUTPUT, "--output",        "PATH",       "file ending in .spv .vyre .h .json, or a directory for all"},
    {0,   OPT_CHOICE, AT(seed),          WRT,   "--seed",          "ones|buffer", "cotangents of outputs: ones, or buffers grad_O"},
    {0,   OPT_FLAG,   AT(with_value),    WRT,   "--with-value",    NULL,         "the derived program also writes the outputs"},
    {0,   OPT_FLAG,   AT(deterministic), FILES, "--deterministic", NULL,         "fix the order of every sum"},
    {0,   OPT_CHOICE, AT(accumulate),    FILES, "--accumulate",    "auto|atomic|gather", "gather: programs over a gradient's elements sum what reaches them; auto: where that pays"},
    {0,   OPT_LIST,   AT(assume),        FILES, "--assume",        "CONDITION",  "holds of the scalars of every launch, which checks it; `explain` lists those there are: no second form for where it does not"},
    {0,   OPT_CHOICE, AT(checkpoint),    FILES, "--checkpoint",    "auto|none|sqrt", "what to recompute instead of keeping; auto: as much as the tape limit requires"},
    {0,   OPT_COUNT,  AT(tape_limit),    FILES, "--tape-limit",    "BYTES",      "most that tapes and copies may take; default of the verbs that run: 1 GiB"},
    {0,   OPT_COUNT,  AT(batches),       FILES, "--batches",       "N",          "parts of its domain that a gradient runs one after the other, with one tape; default: as many as the tape limit requires"},
    {0,   OPT_FLAG,   AT(precise),       FILES, "--precise",       NULL,         "no contraction, functions within 4 ULP"},
    {0,   OPT_FLAG,   AT(fast_math),     FILES, "--fast-math",     NULL,         "reassociation, the device's own functions"},
    {0,   OPT_FLAG,   AT(unchecked),     FILES, "--unchecked",     NULL,         "drop range guards: out-of-range access becomes undefined"},
    {'D', OPT_LIST,   AT(define),        FILES, NULL,              "NAME=VALUE", "sets a constant of the module"},
    {0,   OPT_TEXT,   AT(entry),         FILES, "--entry",         "NAME",       "entry point of a SPIR-V module or shader; default: the only one"},
    {0,   OPT_FLAG,   AT(keep_domain),   FILES, "--keep-domain",   NULL,         "of a shader: launched by workgroups, as --groups says, whatever its guards"},
    {0,   OPT_LIST,   AT(spec),          FILES, "--spec",          "NAME=VALUE", "a specialisation constant of it, by name or number"},
    {0,   OPT_LIST,   AT(shape),         FILES, "--shape",         "BUFFER=DIMS", "the shape of one of its buffers, of its scalars: M,K or 2*n; ?: none"},
    {0,   OPT_LIST,   AT(sampler),       FILES, "--sampler",       "[NAME=]KIND", "of a shader, what a sampler does: linear|nearest, clamp|repeat|mirror|border, or both; default linear,clamp"},
    {'I', OPT_LIST,   AT(include),       FILES, NULL,              "DIR",        "an import that is not beside its file is looked for here"},
    {'O', OPT_CHOICE, AT(level),         FILES, NULL,              "0|1|2|3",    "optimisation level; default 2"},
    {0,   OPT_COUNT,  AT(coarsen),       FILES, "--coarsen",       "N",          "most elements of its domain that one invocation makes; 1: one; default: what suits device and sizes"},
    {0,   OPT_CHOICE, AT(target),        FILES, "--target",        "vulkan1.1|vulkan1.2|vulkan1.3", "oldest Vulkan that must take the SPIR-V; default 1.1"},
    {0,   OPT_CHOICE, AT(written_for),   FILES, "--for",           "any|mesa|lavapipe|other|gpu", "drivers whose faults written SPIR-V works around; other: none; gpu: of a GPU, and large domains: an invocation computes up to 64 elements; default any"},
    {0,   OPT_LIST,   AT(tune),          FILES, "--tune",          "NAME=NUMBER", "a size of the launches that written code is made fast for; it is right for all"},
    {'g', OPT_FLAG,   AT(lines),         FILES, "--lines",         NULL,         "written SPIR-V names its source: path and line numbers"},
    {0,   OPT_FLAG,   AT(no_validate),   FILES, "--no-validate",   NULL,         "do not run spirv-val"},
    {0,   OPT_CHOICE, AT(validate),      FILES, "--validate",      "auto|always", "always: also what spirv-val takes more than about 2 s for, as deep nests"},
    {0,   OPT_COUNT,  AT(order),         WRT,   "--order",         "N",          "differentiate N times, each time all gradients"},
    {0,   OPT_NAMES,  AT(enable),        FILES, "--enable",        "FEATURE[,F]", "optional device features that written SPIR-V may use"},
    {0,   OPT_TEXT,   AT(dump_after),    TAKES_DUMP, "--dump-after",    "PASS",       "print the program after a pass (or all) to stderr"},
    {0,   OPT_FLAG,   AT(quiet),         ALL,   "--quiet",         NULL,         "no notes, no progress"},
    {0,   OPT_FLAG,   AT(verbose),       ALL,   "--verbose",       NULL,         "say more; print whole arrays"},
    {0,   OPT_CHOICE, AT(color),         ALL,   "--color",         "auto|always|never", "colours in diagnostics"},
    {0,   OPT_FLAG,   AT(json),          TAKES_JSON, "--json",          NULL,         "one JSON object on stdout; diagnostics too"},
    {0,   OPT_FLAG,   AT(grad),          VERB_BIT(RUN), "--grad", NULL,           "run the derivative too"},
    {0,   OPT_FLAG,   AT(grad),          VERB_BIT(INSPECT), "--grad", NULL,       "look at the kernels of the derivative instead"},
    {0,   OPT_FLAG,   AT(jvp),           VERB_BIT(RUN) | VERB_BIT(BENCH), "--jvp", NULL, "forward mode: tangents dot_O along dot_W"},
    {0,   OPT_LIST,   AT(set),           SIZES,  "--set",           "NAME=VALUE", "a scalar"},
    {0,   OPT_LIST,   AT(in),            SIZES,  "--in",            "NAME=SPEC",  "contents of a buffer; NAME[2,3]=SPEC also gives the shape; @DIR/: DIR/NAME.npy, @FILE.npz: its array NAME, for each not named"},
    {0,   OPT_LIST,   AT(out),           VERB_BIT(RUN) | VERB_BIT(FIT), "--out",           "NAME=@FILE", "write a result to FILE.npy, FILE.png (a picture; .png:linear: of linear light) FILE.bin or FILE.npz[:ARRAY], or .npy to stdout: @-; @DIR/, @FILE.npz: each not named to DIR/NAME.npy, or into the archive"},
    {0,   OPT_FLAG,   AT(frames),        VERB_BIT(RUN) | VERB_BIT(FIT), "--frames", NULL, "the leading axis of what --out writes as .png counts pictures: NAME000.png, …"},
    {0,   OPT_LIST,   AT(ct),            VERB_BIT(RUN) | VERB_BIT(CHECK) | VERB_BIT(BENCH), "--ct",            "O=SPEC",     "cotangent of an output"},
    {0,   OPT_LIST,   AT(dot),           VERB_BIT(RUN) | VERB_BIT(BENCH), "--dot",           "W=SPEC",     "tangent of an input, for --jvp; default: ones"},
    {0,   OPT_TEXT,   AT(groups),        SIZES,  "--groups",        "X,Y,Z",      "workgroups, for programs without `over`"},
    {0,   OPT_CHOICE, AT(engine),        DATA,  "--engine",        "vulkan|eval", "device, or the reference interpreter"},
    {0,   OPT_CHOICE, AT(eval_type),     DATA,  "--eval-type",     "declared|f64", "f64: the interpreter computes floats in double"},
    {0,   OPT_COUNT,  AT(subgroup_size), DATA,  "--subgroup-size", "N",          "of the interpreter; default 32"},
    {0,   OPT_COUNT,  AT(shuffle),       DATA,  "--shuffle",       "SEED",       "the interpreter runs workgroups and invocations in another order"},
    {0,   OPT_FLAG,   AT(report),        DATA,  "--report",        NULL,         "the interpreter reports data races, reads before writes, accesses out of range"},
    {0,   OPT_TEXT,   AT(device),        GPU,   "--device",        "NAME|INDEX", "Vulkan device; default: VYRE_DEVICE, else the best"},
    {0,   OPT_TEXT,   AT(driver),        VERB_BIT(INSPECT), "--driver", "NAME|CHIP|PATH", "a driver's name, its .json, or an AMD chip: navi21, vega10, …"},
    {0,   OPT_COUNT,  AT(timeout),       DATA,  "--timeout", "SECONDS",           "most that one submission may take on the device; default 600, 0: no limit"},
    {0,   OPT_COUNT,  AT(timeout),       VERB_BIT(INSPECT), "--timeout", "SECONDS", "most that one kernel may take to compile; default 600, 0: no limit"},
    {0,   OPT_COUNT,  AT(samples),       VERB_BIT(CHECK), "--samples", "N",      "elements of a buffer to compare; default 256, fewer where runs are long"},
    {0,   OPT_CHOICE, AT(allow),         VERB_BIT(CHECK), "--allow", "nothing|out-of-range", "out-of-range: loads that give 0 and stores that do nothing are meant"},
    {0,   OPT_NAMES,  AT(params),        VERB_BIT(FIT), "--params",  "W[,W]",     "the inputs to train"},
    {0,   OPT_TEXT,   AT(optimizer),     VERB_BIT(FIT), "--optimizer", "NAME|FILE", "sgd, momentum, adam (the default), lbfgs, or a .vyre file (shaders/optimisers/README.md)"},
    {0,   OPT_TEXT,   AT(lr),            VERB_BIT(FIT), "--lr",      "LR",        "learning rate; default 1e-3, lbfgs: 1, the first length it tries; cosine:LR[:LAST[:STEPS]], step:LR:FACTOR:EVERY"},
    {0,   OPT_COUNT,  AT(steps),         VERB_BIT(FIT), "--steps",   "N",         "how many, from the beginning; default 1000"},
    {0,   OPT_TEXT,   AT(batch),         VERB_BIT(FIT), "--batch",   "X[,X]:N[:SEED]", "each step takes N rows of these buffers, none twice in an epoch"},
    {0,   OPT_TEXT,   AT(shard),         VERB_BIT(FIT), "--shard",   "X[,X][:sum]", "under mpirun: each rank trains on its rows of these buffers; the loss is the mean over rows, or their sum"},
    {0,   OPT_COUNT,  AT(parts),         VERB_BIT(FIT), "--parts",   "N",         "with --shard and --deterministic: sums are those of N parts, in order; default 4"},
    {0,   OPT_COUNT,  AT(checkpoint_every), VERB_BIT(FIT), "--checkpoint-every", "N", "after every N steps write NAME-STEP.fit"},
    {0,   OPT_TEXT,   AT(write_pipeline), VERB_BIT(FIT), "--write-pipeline", "DIR", "write the training as .vyre, .spv, .json and .h instead"},
    {0,   OPT_TEXT,   AT(plot),          VERB_BIT(FIT), "--plot",    "PATH.png",  "draw the losses"},
    {0,   OPT_TEXT,   AT(resume),        VERB_BIT(FIT), "--resume",  "FILE",      "go on from there"},
    {'n', OPT_COUNT,  AT(runs),          VERB_BIT(BENCH), "--runs", "N",         "how many runs to time; default 20"},
    {0,   OPT_TEXT,   AT(against),       VERB_BIT(BENCH), "--against", "PLAN",   "also time a gradient written by hand (shaders/README.md)"},
    {0,   OPT_TEXT,   AT(tolerance),     VERB_BIT(BENCH), "--tolerance", "X",   "by which the gradient of --against may differ from ours; default 1e-4"},
    {0,   OPT_TEXT,   AT(tolerance),     VERB_BIT(FIT), "--tolerance", "X",     "ends where the losses of 8 steps differ by no more than X times the greatest; default 0, which is never, lbfgs: 1e-6"},
    {0,   OPT_FLAG,   AT(peak),          VERB_BIT(BENCH), "--peak", NULL,        "measure the device: copy bandwidth, multiply-adds; FILE may be left out"},
    {'h', OPT_FLAG,   AT(help),          ALL,   "--help",          NULL,         "this text"},
    {0,   OPT_FLAG,   AT(version),       ALL,   "--version",       NULL,         "the version"},
};

static const struct {
    const char *name, *help;
    uint32_t takes;
} verbs[] = {
#define X(id, name, function, takes, help) {name, help, (takes) | VERB_BIT(id)},
    VERBS(X)
#undef X
};
// clang-format on
_Static_assert(COUNT_OF(verbs) == VERB_COUNT, "a row of VERBS for each verb");

const char *verb_name(verb v) { return verbs[v].name; }
const char *verb_help(verb v) { return verbs[v].help; }
bool verb_takes(verb v, uint32_t group) { return (verbs[v].takes & group) != 0; }

static bool takes_option(verb v, const option *opt)
{
    return opt->group == ALL || verb_takes(v, opt->group);
}

// --------------------------------------------------------------------------------------- one value
static bool own(options *o, names *list, const char *s, size_t n, vy_diag *d)
{
    char *copy = strndup(s, n);
    if (copy && names_add(&o->owned, copy)) return names_add(list, copy) || fail_memory(d);
    free(copy);
    return fail_memory(d);
}

static bool take_names(options *o, names *list, const char *name, const char *value, vy_diag *d)
{
    for (const char *at = value;; at++) {
        const size_t n = strcspn(at, ",");
        if (n == 0)
            return fail(d, TOOL_USAGE, NULL, "%s %s: names separated by commas are expected", name,
                        value);
        if (!own(o, list, at, n, d)) return false;
        at += n;
        if (!*at) return true;
    }
}

static bool take_choice(const option *opt, int *field, const char *name, const char *value,
                        vy_diag *d)
{
    int index = 0;
    for (const char *at = opt->argument;; at++, index++) {
        const size_t n = strcspn(at, "|");
        if (strlen(value) == n && !memcmp(value, at, n)) return *field = index, true;
        at += n;
        if (!*at) break;
    }
    return fail(d, TOOL_USAGE, NULL, "%s %s: expected one of %s", name, value, opt->argument);
}

static bool take_value(options *o, const option *opt, const char *name, const char *value,
                       vy_diag *d)
{
    void *field = (char *)o + opt->field;
    vy_scalar n;
    switch (opt->kind) {
    case OPT_FLAG: *(bool *)field = true; return true;
    case OPT_TEXT: *(const char **)field = value; return true;
    case OPT_NAMES: return take_names(o, field, name, value, d);
    case OPT_LIST: return names_add(field, value) || fail_memory(d);
    case OPT_CHOICE:
        if (opt->field == AT(target) && !strncmp(value, "1.", 2)) { // 1.2 is vulkan1.2
            char full[16] = "vulkan";
            return take_choice(opt, field, name, strncat(full, value, 8), d);
        }
        return take_choice(opt, field, name, value, d);
    case OPT_COUNT:
        if (number_parse(VY_U64, value, strlen(value), &n))
            return fail(d, TOOL_USAGE, NULL, "%s %s: a number is expected", name, value);
        *(uint64_t *)field = n.u;
        return true;
    }
    return true;
}

// ----------------------------------------------------------------------------------------- reading
static bool has_name(const option *opt, const char *word)
{
    const size_t n = strcspn(word, "=");
    if (word[1] != '-') return word[1] && opt->letter == word[1];
    return opt->name && strlen(opt->name) == n && !memcmp(opt->name, word, n);
}

// The verb's own where several rows have the name.
static const option *find_option(verb v, const char *word)
{
    const option *other = NULL;
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        if (!has_name(&table[i], word)) continue;
        if (takes_option(v, &table[i])) return &table[i];
        other = &table[i];
    }
    return other;
}

// What other commands call options that have a letter only here.
static const struct {
    const char *theirs;
    char letter;
} others[] = {{"optimise", 'O'}, {"optimize", 'O'}, {"optimisation", 'O'}, {"optimization", 'O'},
              {"opt", 'O'},      {"level", 'O'},    {"define", 'D'},       {"include", 'I'}};

static bool other_option(const char *name, vy_diag *d)
{
    const char *word = name + strspn(name, "-");
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        const size_t n = strlen(others[i].theirs);
        if (strncmp(word, others[i].theirs, n) || (word[n] && word[n] != '=' && word[n] != '-'))
            continue;
        for (size_t k = 0; k < COUNT_OF(table); k++) {
            char fix[120];
            if (table[k].letter != others[i].letter) continue;
            snprintf(fix, sizeof fix, "there is -%c%s: %s", table[k].letter, table[k].argument,
                     table[k].help);
            return fail(d, TOOL_USAGE, fix, "unknown option %.60s", name), true;
        }
    }
    return false;
}

static bool unknown_option(const options *o, const char *name, vy_diag *d)
{
    if (other_option(name, d)) return false;
    const char *candidates[COUNT_OF(table)];
    uint32_t count = 0;
    for (size_t i = 0; i < COUNT_OF(table); i++)
        if (table[i].name && takes_option(o->verb, &table[i]))
            candidates[count++] = table[i].name + 2;
    const char *near = vy_nearest_name(name + strspn(name, "-"), count, candidates);
    char fix[100];
    snprintf(fix, sizeof fix,
             near ? "did you mean --%s?" : "`vyre-grad %s --help` lists the options",
             near ? near : verb_name(o->verb));
    return fail(d, TOOL_USAGE, fix, "unknown option %.60s", name);
}

// What takes the place of an option that users of other verbs look for.
static const struct {
    verb verb;
    const char *name, *fix;
} instead[] = {
    {VERB_CHECK, "--out", "`check` writes no arrays: use `run --grad --out`"},
    {VERB_CHECK, "--dot", "`check` chooses tangents itself: use `run --jvp --dot`"},
    {VERB_BENCH, "--out", "use `run --out`"},
    {VERB_FIT, "--wrt", "name what is trained: --params"},
    {VERB_FIT, "--order", "fit differentiates the loss once"},
    {VERB_FIT, "--seed", "fit differentiates the loss; batches have a seed: --batch X:N:SEED"},
    {VERB_FIT, "--grad", "fit differentiates the loss itself"},
    {VERB_FIT, "--ct", "fit differentiates the loss itself"},
};

static const char *fix_of(verb v, const char *name)
{
    for (size_t i = 0; i < COUNT_OF(instead); i++)
        if (instead[i].verb == v && !strcmp(instead[i].name, name)) return instead[i].fix;
    return NULL;
}

static bool wrong_verb(const options *o, const char *name, vy_diag *d)
{
    text who = {0};
    for (verb v = 0; v < VERB_COUNT; v++)
        if (takes_option(v, find_option(v, name)))
            text_printf(&who, "%s%s", who.size ? ", " : "", verb_name(v));
    fail(d, TOOL_USAGE, fix_of(o->verb, name), "%s is not an option of `%s`, but of: %s", name,
         verb_name(o->verb), who.data ? who.data : "");
    text_free(&who);
    return false;
}

// Reads the option at argv[*at]; moves *at to the last word used.
static bool read_option(options *o, int argc, char **argv, int *at, vy_diag *d)
{
    const char *word = argv[*at], *value = NULL;
    const option *opt = find_option(o->verb, word);
    char name[40];
    if (word[1] == '-') {
        const size_t n = strcspn(word, "=");
        if (word[n]) value = word + n + 1;
        snprintf(name, sizeof name, "%.*s", n > 39 ? 39 : (int)n, word);
    } else {
        if (word[1] && word[2]) value = word + 2; // -O2, -oPATH
        snprintf(name, sizeof name, "-%c", word[1]);
    }
    if (!opt) return unknown_option(o, word[1] == '-' ? name : word, d);
    if (!takes_option(o->verb, opt)) return wrong_verb(o, name, d);
    if (opt->kind == OPT_FLAG) {
        if (value) return fail(d, TOOL_USAGE, NULL, "%s takes no value", name);
        return take_value(o, opt, name, NULL, d);
    }
    if (!value && opt->letter != 'O' && *at + 1 < argc) value = argv[++*at];
    if (!value) return fail(d, TOOL_USAGE, NULL, "%s needs a value: %s", name, opt->argument);
    return take_value(o, opt, name, value, d);
}

static bool is_verb(const char *word)
{
    for (verb v = 0; v < VERB_COUNT; v++)
        if (!strcmp(word, verbs[v].name)) return true;
    return false;
}

static bool read_verb(options *o, const char *word, vy_diag *d)
{
    const char *candidates[VERB_COUNT];
    for (verb v = 0; v < VERB_COUNT; v++) {
        if (!strcmp(word, verbs[v].name)) return o->verb = v, true;
        candidates[v] = verbs[v].name;
    }
    const char *near = vy_nearest_name(word, VERB_COUNT, candidates);
    char fix[60];
    snprintf(fix, sizeof fix, "did you mean `%s`?", near ? near : "");
    return fail(d, TOOL_USAGE, near ? fix : NULL, "unknown verb `%.60s`", word);
}

static uint32_t streams(const names *specs)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < specs->count; i++) {
        const char *equals = strchr(specs->data[i], '=');
        n += equals && !strcmp(equals, "=@-");
    }
    return n;
}

// stdin and stdout hold one thing each.
static bool check_streams(const options *o, vy_diag *d)
{
    const uint32_t in = streams(&o->in), out = streams(&o->out);
    if (in + (o->file && !strcmp(o->file, "-")) > 1)
        return fail(d, TOOL_USAGE, "write all but one into files", "stdin is to be read twice");
    if (out > 1 || (out && (o->json || o->output)))
        return fail(d, TOOL_USAGE, "write the others into files",
                    "--out NAME=@- has stdout for itself");
    return true;
}

static bool consistent(const options *o, vy_diag *d)
{
    if (o->help || o->version) return true;
    if (!check_streams(o, d)) return false;
    if (verb_takes(o->verb, TAKES_FILE) && !o->file && !o->peak)
        return fail(d, TOOL_USAGE, NULL, "`%s` needs a FILE", verb_name(o->verb));
    if (verb_takes(o->verb, TAKES_WORD) && !o->file)
        return fail(d, TOOL_USAGE, NULL, "`%s` needs a word behind it", verb_name(o->verb));
    if (o->precise && o->fast_math)
        return fail(d, TOOL_USAGE, "give one of them", "--precise and --fast-math contradict");
    if (o->no_validate && o->validate == VALIDATE_ALWAYS)
        return fail(d, TOOL_USAGE, "give one of them",
                    "--no-validate and --validate always contradict");
    if (o->grad && o->jvp)
        return fail(d, TOOL_USAGE, "give one of them", "--grad and --jvp contradict");
    if (o->quiet && o->verbose)
        return fail(d, TOOL_USAGE, "give one of them", "--quiet and --verbose contradict");
    if (!vys_order_check("--order", o->order, d)) return false;
    if ((o->jvp || o->verb == VERB_JVP) && o->order > 1)
        return fail(d, TOOL_USAGE, "run jvp on what grad has written",
                    "forward mode takes --order 1 only");
    if (o->runs < 1 || o->runs > 100000) return fail(d, TOOL_USAGE, "", "--runs is 1 to 100000");
    if (!vys_subgroup_size_check("--subgroup-size", o->subgroup_size, d)) return false;
    if (o->report && o->engine != ENGINE_EVAL)
        return fail(d, TOOL_USAGE, "add --engine eval", "--report is for the interpreter");
    if (o->shuffle && o->engine != ENGINE_EVAL)
        return fail(d, TOOL_USAGE, "add --engine eval", "--shuffle is for the interpreter");
    if (o->eval_type == EVAL_F64 && o->engine != ENGINE_EVAL)
        return fail(
            d, TOOL_USAGE, "add --engine eval",
            "--eval-type f64 is for the interpreter; the device computes in declared types");
    return true;
}

bool options_read(options *o, int argc, char **argv, vy_diag *d)
{
    *o = (options){
        .verb = VERB_COUNT, .level = 2, .order = 1, .runs = 20, .timeout = 600, .steps = 1000};
    for (int i = 1; i < argc; i++) // so that even the first error is reported in the requested form
        if (!strcmp(argv[i], "--json")) o->json = true;
    int at = 1;
    if (argc > 1 && !strcmp(argv[1], "help")) o->help = true, at = 2;
    if (at == 2 && argc == 3 && argv[2][0] != '-' && !is_verb(argv[2]))
        return o->topic = argv[2], true;
    if (at < argc && (!strcmp(argv[at], "--help") || !strcmp(argv[at], "-h")))
        return o->help = true, true;
    if (at < argc && !strcmp(argv[at], "--version")) return o->version = true, true;
    if (at == argc) return o->help || fail(d, TOOL_USAGE, NULL, "no verb given");
    if (!read_verb(o, argv[at], d)) return false;
    bool options_end = false;
    for (at++; at < argc; at++) {
        const char *word = argv[at];
        if (!options_end && !strcmp(word, "--"))
            options_end = true;
        else if (!options_end && word[0] == '-' && word[1]) {
            if (!read_option(o, argc, argv, &at, d)) return false;
        } else if (o->file || !verb_takes(o->verb, TAKES_FILE | TAKES_WORD))
            return fail(d, TOOL_USAGE, NULL, "one word too many: %.100s", word);
        else
            o->file = word;
    }
    return consistent(o, d);
}

void options_free(options *o)
{
    for (uint32_t i = 0; i < o->owned.count; i++) free((char *)o->owned.data[i]);
    names *lists[] = {&o->of,    &o->wrt,     &o->enable, &o->params, &o->set,     &o->in,
                      &o->out,   &o->ct,      &o->dot,    &o->define, &o->include, &o->spec,
                      &o->shape, &o->sampler, &o->assume, &o->tune,   &o->owned};
    for (size_t i = 0; i < COUNT_OF(lists); i++) names_free(lists[i]);
}

// -------------------------------------------------------------------------------------------- help
listed_option options_listed(verb v, uint32_t index)
{
    static const char letters[][3] = {"-D", "-I", "-O"}; // of those without a name
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        const option *opt = &table[i];
        if (!opt->help || !takes_option(v, opt) || index--) continue;
        const char *name = opt->name;
        for (size_t k = 0; !name && k < COUNT_OF(letters); k++)
            if (letters[k][1] == opt->letter) name = letters[k];
        return (listed_option){name, opt->argument, opt->help};
    }
    return (listed_option){0};
}

static void option_help(const option *opt, text *out)
{
    text left = {0};
    if (opt->letter) text_printf(&left, "-%c%s", opt->letter, opt->name ? ", " : "");
    if (opt->name) text_puts(&left, opt->name);
    if (opt->argument) text_printf(&left, "%s%s", opt->name ? " " : "", opt->argument);
    text_printf(out, "  %-36s%s%s\n", left.data ? left.data : "",
                left.size > 35 ? "\n                                      " : "", opt->help);
    if (left.failed) out->failed = true;
    text_free(&left);
}

void options_help(verb v, text *out)
{
    const uint32_t usual = TAKES_PROGRAM | TAKES_WRT | TAKES_OUTPUT | TAKES_JSON;
    if (v == VERB_COUNT) {
        text_puts(
            out,
            "usage: vyre-grad VERB FILE [options]\n\n"
            "Gradients of GPU compute programs as SPIR-V.  FILE is a program (.vyre) or a shader\n"
            "(.comp, .glsl, .hlsl, .slang, .spv); - is a program on stdin.\n\n");
        for (verb i = 0; i < VERB_COUNT; i++)
            text_printf(out, "  %-13s %s\n", verbs[i].name, verbs[i].help);
        text_puts(out,
                  "\n`vyre-grad help VERB` says what a verb takes, `vyre-grad help TOPIC` has the "
                  "language reference\n(`help topics` lists it).\n");
        text_puts(out, "\nOptions of most verbs; `vyre-grad VERB --help` lists those of one:\n");
    } else {
        text_printf(out, "usage: vyre-grad %s%s [options]\n\n%s\n\nOptions:\n", verbs[v].name,
                    verb_takes(v, TAKES_FILE)   ? " FILE"
                    : verb_takes(v, TAKES_WORD) ? " WORD"
                                                : "",
                    verbs[v].help ? verbs[v].help : "not available yet in this version");
    }
    for (size_t i = 0; i < COUNT_OF(table); i++)
        if (table[i].help &&
            (v == VERB_COUNT ? !(table[i].group & ~usual) : takes_option(v, &table[i])))
            option_help(&table[i], out);
    if (v == VERB_COUNT || verb_takes(v, TAKES_SHAPES))
        text_puts(out,
                  "\nSPEC: 1,2,3 | @file.npy | @file.png | @file.bin | zeros | ones | const:V |\n"
                  "      iota | cycle:N | uniform:LO:HI:SEED | normal:MEAN:STD:SEED\n");
    text_puts(out, "\nExit status: 0 fine, 1 the program or the command line is wrong,\n"
                   "2 the device or the file system failed, 3 a check failed.\n");
}

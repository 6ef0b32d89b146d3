// SPDX-License-Identifier: MIT
// options_table.c: the options of the command, and which verbs take them.
#include "tools/command/options_table.h"

#define FILES TAKES_PROGRAM // the common options: docs/language.md 10.4
#define WRT TAKES_WRT
#define DATA TAKES_DATA
#define SIZES TAKES_SHAPES
#define GPU TAKES_DEVICE
#define VERB_BIT(id) (1u << 16 << VERB_##id) // a verb's own group, in no row
_Static_assert(VERB_COUNT <= 16, "groups of their own have 16 bits");

// clang-format off
const option option_table[] = {
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
const size_t option_count = COUNT_OF(option_table);
_Static_assert(COUNT_OF(verbs) == VERB_COUNT, "a row of VERBS for each verb");

const char *verb_name(verb v) { return verbs[v].name; }
const char *verb_help(verb v) { return verbs[v].help; }
bool verb_takes(verb v, uint32_t group) { return (verbs[v].takes & group) != 0; }

bool takes_option(verb v, const option *opt)
{
    return opt->group == ALL || verb_takes(v, opt->group);
}

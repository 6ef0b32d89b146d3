// SPDX-License-Identifier: MIT
// options.c: reads argv, as the table of options says.
#include "tools/command/options_table.h"

#include "tools/data/number.h"

#include "session/target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    for (size_t i = 0; i < option_count; i++) {
        if (!has_name(&option_table[i], word)) continue;
        if (takes_option(v, &option_table[i])) return &option_table[i];
        other = &option_table[i];
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
        for (size_t k = 0; k < option_count; k++) {
            char fix[120];
            if (option_table[k].letter != others[i].letter) continue;
            snprintf(fix, sizeof fix, "there is -%c%s: %s", option_table[k].letter,
                     option_table[k].argument, option_table[k].help);
            return fail(d, TOOL_USAGE, fix, "unknown option %.60s", name), true;
        }
    }
    return false;
}

static bool unknown_option(const options *o, const char *name, vy_diag *d)
{
    if (other_option(name, d)) return false;
    names candidates = {0};
    for (size_t i = 0; i < option_count; i++)
        if (option_table[i].name && takes_option(o->verb, &option_table[i]) &&
            !names_add(&candidates, option_table[i].name + 2))
            break; // a fix that is less near
    const char *near = vy_nearest_name(name + strspn(name, "-"), candidates.count, candidates.data);
    names_free(&candidates);
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
        if (!strcmp(word, verb_name(v))) return true;
    return false;
}

static bool read_verb(options *o, const char *word, vy_diag *d)
{
    const char *candidates[VERB_COUNT];
    for (verb v = 0; v < VERB_COUNT; v++) {
        if (!strcmp(word, verb_name(v))) return o->verb = v, true;
        candidates[v] = verb_name(v);
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

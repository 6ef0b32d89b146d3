// SPDX-License-Identifier: MIT
// man.c: the manual page (`man`), from the tables of verbs and options.
//
// In the macros of man(7).  An option that several verbs take is listed once, with their names.
#include "tools/command/command.h"

#include <string.h>

// Words in which `-` is the ASCII character and no hyphen, and nothing begins a macro.
static void words(text *out, const char *s)
{
    for (bool start = true; *s; start = *s++ == '\n') {
        if (start && (*s == '.' || *s == '\'')) text_puts(out, "\\&");
        if (*s == '-')
            text_puts(out, "\\-");
        else if (*s == '\\')
            text_puts(out, "\\e");
        else
            text_printf(out, "%c", *s);
    }
}

static bool is_same(listed_option a, listed_option b)
{
    return !strcmp(a.name, b.name) && !strcmp(a.help, b.help);
}

static bool takes(verb v, listed_option o)
{
    for (uint32_t i = 0; options_listed(v, i).name; i++)
        if (is_same(options_listed(v, i), o)) return true;
    return false;
}

// (run, fit): nothing where all verbs take it.
static void list_verbs(text *out, listed_option o)
{
    uint32_t count = 0;
    for (verb v = 0; v < VERB_COUNT; v++) count += takes(v, o);
    if (count == VERB_COUNT) return;
    text_puts(out, "\n(");
    for (verb v = 0, n = 0; v < VERB_COUNT; v++) {
        if (!takes(v, o)) continue;
        if (n++) text_puts(out, ", ");
        words(out, verb_name(v));
    }
    text_puts(out, ")");
}

static void write_option(text *out, listed_option o)
{
    text_puts(out, ".TP\n.BR ");
    words(out, o.name);
    if (o.argument) {
        text_puts(out, o.name[1] == '-' ? " \" \" \\fI" : " \\fI");
        words(out, o.argument);
        text_puts(out, "\\fR");
    }
    text_puts(out, "\n");
    words(out, o.help);
    list_verbs(out, o);
    text_puts(out, "\n");
}

static bool listed_before(verb v, listed_option o)
{
    for (verb u = 0; u < v; u++)
        if (takes(u, o)) return true;
    return false;
}

static void write_options(text *out)
{
    text_puts(out, ".SH OPTIONS\nIn parentheses: the verbs that take it, where not all do.\n");
    for (verb v = 0; v < VERB_COUNT; v++)
        for (uint32_t i = 0; options_listed(v, i).name; i++)
            if (!listed_before(v, options_listed(v, i))) write_option(out, options_listed(v, i));
}

static void write_verbs(text *out)
{
    text_puts(out, ".SH VERBS\n");
    for (verb v = 0; v < VERB_COUNT; v++) {
        text_puts(out, ".TP\n.B ");
        words(out, verb_name(v));
        text_puts(out, "\n");
        words(out, verb_help(v));
        text_puts(out, "\n");
    }
}

static const char rest[] =
    ".SH EXIT STATUS\n"
    "0: success; 1: the program or the command line is wrong; 2: the device or the file system;\n"
    "3: a check failed, or a training came to a loss that is no number.\n"
    ".SH ENVIRONMENT\n"
    ".TP\n.B VYRE_DEVICE\nthe device where \\-\\-device is not given\n"
    ".TP\n.B VYRE_VALIDATION\n1: with the validation layers of Vulkan\n"
    ".TP\n.B VYRE_CACHE_DIR\nfolder of compiled kernels; empty: none\n"
    ".TP\n.B VYRE_CACHE_MIB\nits most, in mebibytes; default 256\n"
    ".SH EXAMPLES\n"
    ".nf\nvyre\\-grad grad model.vyre \\-\\-wrt w\n"
    "vyre\\-grad run model.vyre \\-\\-grad \\-\\-wrt w \\-\\-in w=1,2 \\-\\-in x=@x.npy \\-\\-in y=@y.npy\n"
    "vyre\\-grad check model.vyre \\-\\-wrt w\n.fi\n"
    ".SH SEE ALSO\n"
    ".BR \"vyre\\-grad help topics\" :\nthe language reference.\n";

bool verb_man(command *c, vy_diag *d)
{
    (void)d;
    text *out = &c->out;
    text_printf(out, ".TH VYRE\\-GRAD 1 \"\" \"vyre\\-grad %s\" \"User Commands\"\n", vy_version());
    text_puts(out, ".SH NAME\nvyre\\-grad \\- gradients of GPU compute programs, as SPIR\\-V\n"
                   ".SH SYNOPSIS\n.B vyre\\-grad\n.I VERB FILE\n.RI [ options ]\n"
                   ".SH DESCRIPTION\nDifferentiates compute programs (.vyre) and shaders (.comp, "
                   ".glsl, .hlsl, .slang, .spv) in reverse and forward\nmode, and writes the "
                   "derivative as text or SPIR\\-V, runs it, checks it or trains with it.\n"
                   "FILE \\- is a program on standard input.\n");
    write_verbs(out);
    write_options(out);
    text_puts(out, rest);
    return true;
}

// SPDX-License-Identifier: MIT
// options_help.c: --help, and the options of a verb one by one, from the table.
#include "tools/command/options_table.h"

#include "tools/data/number.h"

listed_option options_listed(verb v, uint32_t index)
{
    static const char letters[][3] = {"-D", "-I", "-O"}; // of those without a name
    for (size_t i = 0; i < option_count; i++) {
        const option *opt = &option_table[i];
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
            text_printf(out, "  %-13s %s\n", verb_name(i), verb_help(i));
        text_puts(out,
                  "\n`vyre-grad help VERB` says what a verb takes, `vyre-grad help TOPIC` has the "
                  "language reference\n(`help topics` lists it).\n");
        text_puts(out, "\nOptions of most verbs; `vyre-grad VERB --help` lists those of one:\n");
    } else {
        text_printf(out, "usage: vyre-grad %s%s [options]\n\n%s\n\nOptions:\n", verb_name(v),
                    verb_takes(v, TAKES_FILE)   ? " FILE"
                    : verb_takes(v, TAKES_WORD) ? " WORD"
                                                : "",
                    verb_help(v) ? verb_help(v) : "not available yet in this version");
    }
    for (size_t i = 0; i < option_count; i++)
        if (option_table[i].help && (v == VERB_COUNT ? !(option_table[i].group & ~usual)
                                                     : takes_option(v, &option_table[i])))
            option_help(&option_table[i], out);
    if (v == VERB_COUNT || verb_takes(v, TAKES_SHAPES))
        text_puts(out,
                  "\nSPEC: 1,2,3 | @file.npy | @file.png | @file.bin | zeros | ones | const:V |\n"
                  "      iota | cycle:N | uniform:LO:HI:SEED | normal:MEAN:STD:SEED\n");
    text_puts(out, "\nExit status: 0 fine, 1 the program or the command line is wrong,\n"
                   "2 the device or the file system failed, 3 a check failed.\n");
}

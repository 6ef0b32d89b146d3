// SPDX-License-Identifier: MIT
// options_table.h: the rows of options_table.c, which reading argv (options.c), --help
// (options_help.c) and completions follow.
#ifndef VYRE_TOOLS_OPTIONS_TABLE_H
#define VYRE_TOOLS_OPTIONS_TABLE_H

#include "tools/command/options.h"

#include <stddef.h>

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

#define ALL 0 // every verb
#define AT(field) offsetof(options, field)

extern const option option_table[];
extern const size_t option_count;

bool takes_option(verb v, const option *opt);

#endif

// SPDX-License-Identifier: MIT
// topics.c: what the command says of itself: `help TOPIC`, `explain-error CODE`, `completions
// SHELL`.
//
// The texts are those of docs/, embedded (tools/gen/gen_topics.py); completions come from the table
// of options, so none is forgotten.
#include "tools/command/command.h"

#include "tools/topics_text.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

// -------------------------------------------------------------------------------------- help TOPIC
static bool contains(const char *text, const char *word)
{
    const size_t n = strlen(word);
    for (; *text; text++)
        if (!strncasecmp(text, word, n)) return true;
    return false;
}

static void list_topics(text *out)
{
    text_puts(out, "Sections of the language reference; `vyre-grad help TOPIC` prints those whose "
                   "number or title it is,\nor is a part of:\n\n");
    for (size_t i = 0; i < COUNT_OF(topics); i++)
        text_printf(out, "  %-6s %s\n", topics[i].number, topics[i].title);
}

// Those that mention it, by title.
static uint32_t list_mentions(const char *word, text *out)
{
    uint32_t found = 0;
    for (size_t i = 0; i < COUNT_OF(topics); i++) {
        if (!contains(topics[i].text, word)) continue;
        if (!found++) text_printf(out, "No section is called %s; these mention it:\n\n", word);
        text_printf(out, "  %-6s %s\n", topics[i].number, topics[i].title);
    }
    return found;
}

// The section of that number or title, else all whose title has the word in it, else the titles of
// those that mention it.
bool help_topic(command *c, vy_diag *d)
{
    const char *word = c->o.topic;
    uint32_t found = 0;
    if (!strcmp(word, "topics")) return list_topics(&c->out), true;
    for (int exact = 1; exact >= 0 && !found; exact--)
        for (size_t i = 0; i < COUNT_OF(topics); i++) {
            const bool same = !strcmp(topics[i].number, word) || !strcasecmp(topics[i].title, word);
            if (exact ? !same : !contains(topics[i].title, word)) continue;
            text_printf(&c->out, "%s%s", found++ ? "\n" : "", topics[i].text);
        }
    if (!found) found = list_mentions(word, &c->out);
    return found || fail(d, TOOL_USAGE, "`vyre-grad help topics` lists them",
                         "no verb and no topic is called `%.60s`", word);
}

// ------------------------------------------------------------------------------ explain-error CODE
bool verb_explain_error(command *c, vy_diag *d)
{
    const char *code = c->o.file;
    for (size_t i = 0; i < COUNT_OF(errors); i++) {
        if (strcasecmp(errors[i].code, code) != 0) continue;
        text_printf(&c->out, "%s: %s\nfix: %s\n", errors[i].code, errors[i].wrong, errors[i].fix);
        return true;
    }
    const char *last = errors[0].code;
    for (size_t i = 1; i < COUNT_OF(errors); i++)
        if (strcmp(errors[i].code, last) > 0) last = errors[i].code;
    fail(d, TOOL_USAGE, "", "no error has the code `%.60s`", code);
    snprintf(d->fix, sizeof d->fix, "codes are %s to %s, as a message has them in brackets",
             errors[0].code, last);
    return false;
}

// ------------------------------------------------------------------------------- completions SHELL
static void bash(text *out)
{
    text_puts(out, "# bash: vyre-grad completions bash >~/.local/share/bash-completion/completions/"
                   "vyre-grad\n_vyre_grad() {\n    local cur=${COMP_WORDS[COMP_CWORD]} words\n"
                   "    if [ \"$COMP_CWORD\" = 1 ]; then words=\"");
    for (verb v = 0; v < VERB_COUNT; v++) text_printf(out, "%s ", verb_name(v));
    text_puts(out, "help\"\n    else\n        case ${COMP_WORDS[1]} in\n");
    for (verb v = 0; v < VERB_COUNT; v++) {
        text_printf(out, "        %s) words=\"", verb_name(v));
        for (uint32_t i = 0; options_listed(v, i).name; i++)
            text_printf(out, "%s%s", i ? " " : "", options_listed(v, i).name);
        text_puts(out, "\" ;;\n");
    }
    text_puts(out,
              "        esac\n        case $cur in -*) ;; *) COMPREPLY=($(compgen -f -- \"$cur\")); "
              "return ;; esac\n    fi\n    COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n}\n"
              "complete -o filenames -F _vyre_grad vyre-grad\n");
}

// `help` between single quotes.
static void quoted(text *out, const char *help, const char *special)
{
    for (const char *s = help; *s; s++) {
        if (*s == '\'')
            text_puts(out, "'\\''");
        else if (strchr(special, *s))
            text_printf(out, "\\%c", *s);
        else
            text_printf(out, "%c", *s);
    }
}

static void zsh(text *out)
{
    text_puts(out,
              "#compdef vyre-grad\n# zsh: vyre-grad completions zsh >FOLDER OF $fpath/_vyre-grad\n"
              "if (( CURRENT == 2 )); then\n    local -a verbs=(\n");
    for (verb v = 0; v < VERB_COUNT; v++) {
        text_printf(out, "        '%s:", verb_name(v));
        quoted(out, verb_help(v), ":\\");
        text_puts(out, "'\n");
    }
    text_puts(out, "    )\n    _describe verb verbs\n    return\nfi\ncase $words[2] in\n");
    for (verb v = 0; v < VERB_COUNT; v++) {
        text_printf(out, "%s)\n    _arguments '*:file:_files'", verb_name(v));
        for (uint32_t i = 0; options_listed(v, i).name; i++) {
            const listed_option o = options_listed(v, i);
            text_printf(out, " \\\n        '*%s%s[", o.name,
                        o.argument && o.name[1] == '-' ? "=" : "");
            quoted(out, o.help, "[]:\\");
            text_puts(out, o.argument ? "]:value:_files'" : "]'");
        }
        text_puts(out, " ;;\n");
    }
    text_puts(out, "esac\n");
}

static void fish(text *out)
{
    text_puts(out,
              "# fish: vyre-grad completions fish >~/.config/fish/completions/vyre-grad.fish\n");
    for (verb v = 0; v < VERB_COUNT; v++) {
        text_printf(out, "complete -c vyre-grad -n __fish_use_subcommand -a %s -d '", verb_name(v));
        quoted(out, verb_help(v), "\\");
        text_puts(out, "'\n");
        for (uint32_t i = 0; options_listed(v, i).name; i++) {
            const listed_option o = options_listed(v, i);
            const bool word = o.name[1] == '-';
            text_printf(out,
                        "complete -c vyre-grad -n '__fish_seen_subcommand_from %s' -%c %s%s -d '",
                        verb_name(v), word ? 'l' : 's', o.name + 1 + word, o.argument ? " -r" : "");
            quoted(out, o.help, "\\");
            text_puts(out, "'\n");
        }
    }
}

bool verb_completions(command *c, vy_diag *d)
{
    static const struct {
        const char *name;
        void (*write)(text *out);
    } shells[] = {{"bash", bash}, {"zsh", zsh}, {"fish", fish}};
    for (size_t i = 0; i < COUNT_OF(shells); i++)
        if (!strcmp(c->o.file, shells[i].name)) return shells[i].write(&c->out), true;
    return fail(d, TOOL_USAGE, "it is bash, zsh or fish", "no completions for `%.60s`", c->o.file);
}

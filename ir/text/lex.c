// SPDX-License-Identifier: MIT
// lex.c: text to tokens, one at a time.
//
// Tokens are read on demand, so an invalid file is rejected at its first error, however large it
// is.
#include "ir/text/front.h"

#include <stdio.h>
#include <string.h>

static const struct keyword {
    const char *text;
    uint8_t kind;
} keywords[] = {
    {"break", TK_BREAK},     {"checkpoint", TK_CHECKPOINT},
    {"const", TK_CONST},     {"continue", TK_CONTINUE},
    {"else", TK_ELSE},       {"false", TK_FALSE},
    {"fn", TK_FN},           {"for", TK_FOR},
    {"if", TK_IF},           {"let", TK_LET},
    {"local", TK_LOCAL},     {"pipeline", TK_PIPELINE},
    {"program", TK_PROGRAM}, {"return", TK_RETURN},
    {"shared", TK_SHARED},   {"true", TK_TRUE},
    {"var", TK_VAR},         {"while", TK_WHILE},
};

static uint8_t keyword_kind(const char *s, size_t n)
{
    if (n < 2 || n > 10) return TK_NAME;
    size_t low = 0, high = sizeof keywords / sizeof *keywords;
    while (low < high) {
        size_t mid = (low + high) / 2;
        int order = s[0] - keywords[mid].text[0]; // mostly decides
        if (order == 0) order = strncmp(s, keywords[mid].text, n);
        if (order == 0 && keywords[mid].text[n]) order = -1;
        if (order == 0) return keywords[mid].kind;
        if (order < 0)
            high = mid;
        else
            low = mid + 1;
    }
    return TK_NAME;
}

bool vy_keyword_is(const char *s, size_t n)
{
    vy_type type;
    return keyword_kind(s, n) != TK_NAME || vy_type_from_name(s, n, &type);
}

const char *vy_keyword_name(uint32_t i)
{
    static const char *const others[] = {"over",  "workgroup", "repeat", "buffer",
                                         "inout", "import",    "switch", "default"};
    const uint32_t n = sizeof keywords / sizeof *keywords;
    if (i < n) return keywords[i].text;
    return i - n < sizeof others / sizeof *others ? others[i - n] : NULL;
}

// ------------------------------------------------------------------------------------ white space
static uint32_t column_of(const vy_front *f, const char *at)
{
    return (uint32_t)(at - f->line_start) + 1;
}

static void lex_error(vy_front *f, vy_code code, const char *at, const char *fix, const char *text)
{
    vy_front_error(f, code, f->line, column_of(f, at), fix, "%s", text);
}

static void new_line(vy_front *f)
{
    f->line++;
    f->line_start = f->at;
}

// One character inside a comment.
static bool comment_char(vy_front *f)
{
    uint32_t code;
    if (*f->at == '\n') {
        f->at++;
        new_line(f);
        return true;
    }
    size_t n = (unsigned char)*f->at < 0x80 ? 1 : vy_utf8_length(f->at, f->end, &code);
    if (n == 0) {
        lex_error(f, VY_E_UTF8, f->at, NULL, "this comment is not UTF-8");
        return false;
    }
    f->at += n;
    return true;
}

static bool skip_comment(vy_front *f)
{
    if (f->at[1] == '/') {
        while (f->at < f->end && *f->at != '\n')
            if (!comment_char(f)) return false;
        return true;
    }
    const char *start = f->at;
    uint32_t line = f->line, column = column_of(f, start);
    f->at += 2;
    while (f->at < f->end) {
        if (*f->at == '*' && f->end - f->at >= 2 && f->at[1] == '/') {
            f->at += 2;
            return true;
        }
        if (!comment_char(f)) return false;
    }
    vy_front_error(f, VY_E_COMMENT, line, column, NULL, "this comment does not end");
    return false;
}

static bool skip_space(vy_front *f)
{
    while (f->at < f->end) {
        char c = *f->at;
        if (c == '\n') {
            f->at++;
            new_line(f);
        } else if (c == ' ' || c == '\t' || c == '\r') {
            f->at++;
        } else if (c == '/' && f->end - f->at >= 2 && (f->at[1] == '/' || f->at[1] == '*')) {
            if (!skip_comment(f)) return false;
        } else {
            break;
        }
    }
    return true;
}

// ---------------------------------------------------------------------------------------- numbers
static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
static char char_at(const vy_front *f, const char *s) { return s < f->end ? *s : 0; }

static int digit_value(char c)
{
    if (is_digit(c)) return c - '0';
    char lower = (char)(c | 32);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : 99;
}

// Digits of `base` to tok.value; false when it does not fit 64 bits.
static bool read_digits(vy_front *f, const char **s, int base)
{
    bool fits = true;
    for (; *s < f->end && digit_value(**s) < base; ++*s) {
        uint64_t digit = (uint64_t)digit_value(**s);
        if (f->tok.value > (UINT64_MAX - digit) / (uint64_t)base) fits = false;
        f->tok.value = f->tok.value * (uint64_t)base + digit;
    }
    return fits;
}

// Fraction and exponent; true if there was either.
static bool read_fraction(vy_front *f, const char **s)
{
    const char *start = *s;
    if (char_at(f, *s) == '.' && is_digit(char_at(f, *s + 1)))
        for (++*s; is_digit(char_at(f, *s));) ++*s;
    const char *e = *s;
    if ((char_at(f, e) | 32) == 'e') {
        e++;
        if (char_at(f, e) == '+' || char_at(f, e) == '-') e++;
        if (is_digit(char_at(f, e))) {
            while (is_digit(char_at(f, e))) e++;
            *s = e;
        }
    }
    return *s > start;
}

static bool read_suffix(vy_front *f, const char *s, const char **end)
{
    static const char letters[] = "uifh";
    static const uint8_t types[] = {VY_U32, VY_I32, VY_F32, VY_F16};
    const char *p = s;
    while (p < f->end && (is_letter(*p) || is_digit(*p))) p++;
    *end = p;
    if (p == s) return true;
    vy_type type = VY_VOID;
    const char *short_form = p - s == 1 ? strchr(letters, *s) : NULL;
    if (short_form)
        type = (vy_type)types[short_form - letters];
    else
        vy_type_from_name(s, (size_t)(p - s), &type);
    f->tok.type = (uint8_t)type;
    bool whole = f->tok.kind == TK_INT;
    return type >= VY_I32 && type <= VY_F64 && (whole || vy_type_is_float(type));
}

static void read_number(vy_front *f)
{
    const char *start = f->at, *s = start, *end;
    bool hex = *s == '0' && (char_at(f, s + 1) | 32) == 'x', fits;
    if (hex) s += 2;
    f->tok.kind = TK_INT;
    fits = read_digits(f, &s, hex ? 16 : 10);
    bool empty = hex && s == start + 2;
    if (!hex && read_fraction(f, &s)) f->tok.kind = TK_FLOAT;
    f->tok.length = (uint32_t)(s - start);
    bool good = read_suffix(f, s, &end) && !empty;
    f->at = end;
    if (!good) {
        int shown = end - start > 40 ? 40 : (int)(end - start);
        vy_front_error(f, VY_E_NUMBER, f->line, f->tok.column, NULL, "`%.*s` is not a number",
                       shown, start);
    } else if (f->tok.length > VY_MAX_LITERAL) {
        vy_front_error(f, VY_E_LIMIT, f->line, f->tok.column, "write fewer digits",
                       "a number of more than %u characters", VY_MAX_LITERAL);
    } else if (f->tok.kind == TK_INT && !fits) {
        vy_front_error(f, VY_E_LITERAL_RANGE, f->line, f->tok.column,
                       "write it as a float, like 1e20", "`%.*s` does not fit 64 bits",
                       f->tok.length > 60 ? 60 : (int)f->tok.length, start);
    } else if (char_at(f, end) == '.' && char_at(f, end + 1) != '.') {
        vy_front_error(f, VY_E_NUMBER, f->line, f->tok.column, "write a digit after the point",
                       "`%.*s.` is not a number", (int)(end - start > 60 ? 60 : end - start),
                       start);
    }
}

// ------------------------------------------------------------------------------------------ names
static void read_name(vy_front *f)
{
    const char *s = f->at;
    while (f->at < f->end && (is_letter(*f->at) || is_digit(*f->at))) f->at++;
    size_t n = (size_t)(f->at - s);
    f->tok.length = (uint32_t)n;
    f->tok.kind = keyword_kind(s, n);
    vy_type type;
    if (f->tok.kind != TK_NAME) return;
    if (n <= 4 && vy_type_from_name(s, n, &type)) {
        f->tok.kind = TK_TYPE;
        f->tok.type = (uint8_t)type;
        return;
    }
    f->tok.name = vy_front_name(f, s, (uint32_t)n);
    if (f->failed || !f->tok.name->stands_for) return;
    f->tok.kind = TK_TYPE;
    f->tok.type = f->tok.name->stands_for;
}

// `any text` in back quotes is a name: whatever the API accepted can be printed.
static void read_quoted(vy_front *f)
{
    const char *s = ++f->at;
    uint32_t code;
    while (f->at < f->end && *f->at != '`') {
        size_t n = vy_utf8_length(f->at, f->end, &code);
        if (n == 0 || code < 32 || code == 127) break;
        f->at += n;
    }
    if (char_at(f, f->at) != '`' || f->at == s) {
        lex_error(f, VY_E_CHARACTER, s - 1, "close it with ` on the same line",
                  "this quoted name does not end");
        return;
    }
    f->tok.kind = TK_NAME;
    f->tok.length = (uint32_t)(f->at - s + 2);
    f->tok.name = vy_front_name(f, s, (uint32_t)(f->at - s));
    f->at++;
}

// "text", without escapes: the path of an import.  The token has the quotes.
static void read_string(vy_front *f)
{
    const char *s = f->at++;
    uint32_t code;
    while (f->at < f->end && *f->at != '"') {
        size_t n = vy_utf8_length(f->at, f->end, &code);
        if (n == 0 || code < 32 || code == 127) break;
        f->at += n;
    }
    if (char_at(f, f->at) != '"') {
        lex_error(f, VY_E_CHARACTER, s, "close it with \" on the same line",
                  "this quoted path does not end");
        return;
    }
    f->tok.kind = TK_STRING;
    f->tok.length = (uint32_t)(++f->at - s);
}

static void bad_character(vy_front *f)
{
    uint32_t code = 0;
    char text[80];
    if (vy_utf8_length(f->at, f->end, &code) == 0) {
        lex_error(f, VY_E_UTF8, f->at, NULL, "this is not UTF-8 text");
        return;
    }
    if (code > 32 && code < 127)
        snprintf(text, sizeof text, "unexpected character `%c`", (int)code);
    else
        snprintf(text, sizeof text, "unexpected character U+%04X", code);
    bool point = code == '.' && is_digit(char_at(f, f->at + 1));
    lex_error(f, point ? VY_E_NUMBER : VY_E_CHARACTER, f->at, NULL, text);
}

// ------------------------------------------------------------------------------------ punctuation
static const char single[] = "(){}[],;:?@.!~|^&<>+-*/%=";
static const uint8_t single_kinds[] = {TK_LPAREN,   TK_RPAREN, TK_LBRACE,    TK_RBRACE, TK_LBRACKET,
                                       TK_RBRACKET, TK_COMMA,  TK_SEMICOLON, TK_COLON,  TK_QUESTION,
                                       TK_AT,       TK_DOT,    TK_NOT,       TK_TILDE,  TK_OR,
                                       TK_XOR,      TK_AND,    TK_LT,        TK_GT,     TK_ADD,
                                       TK_SUB,      TK_MUL,    TK_DIV,       TK_REM,    TK_SET};
static const struct pair {
    char text[4];
    uint8_t kind;
} pairs[] = {
    // longest first
    {"<<=", TK_SET_SHL}, {">>=", TK_SET_SHR}, {"..", TK_DOTDOT},  {"->", TK_ARROW},
    {"||", TK_OROR},     {"&&", TK_ANDAND},   {"==", TK_EQ},      {"!=", TK_NE},
    {"<=", TK_LE},       {">=", TK_GE},       {"<<", TK_SHL},     {">>", TK_SHR},
    {"+=", TK_SET_ADD},  {"-=", TK_SET_SUB},  {"*=", TK_SET_MUL}, {"/=", TK_SET_DIV},
    {"%=", TK_SET_REM},  {"&=", TK_SET_AND},  {"|=", TK_SET_OR},  {"^=", TK_SET_XOR},
};

static void read_punctuation(vy_front *f)
{
    size_t left = (size_t)(f->end - f->at);
    const char *next = left > 1 ? memchr(".>|&=<", f->at[1], 6) : NULL;
    for (size_t i = 0; next && i < sizeof pairs / sizeof *pairs; i++) {
        size_t n = strlen(pairs[i].text);
        if (n > left || memcmp(f->at, pairs[i].text, n) != 0) continue;
        f->tok.kind = pairs[i].kind;
        f->tok.length = (uint32_t)n;
        f->at += n;
        return;
    }
    const char *s = *f->at ? strchr(single, *f->at) : NULL;
    bool point = *f->at == '.' && is_digit(char_at(f, f->at + 1));
    if (!s || point) {
        bad_character(f);
        return;
    }
    f->tok.kind = single_kinds[s - single];
    f->tok.length = 1;
    f->at++;
}

void vy_advance(vy_front *f)
{
    f->last_end = f->at;
    f->last_line = f->line;
    f->last_column = column_of(f, f->at);
    if (f->failed || !skip_space(f)) return;
    f->tok = (vy_token){.line = f->line, .column = column_of(f, f->at), .text = f->at};
    if (f->at >= f->end) return; // TK_END
    if (is_letter(*f->at))
        read_name(f);
    else if (is_digit(*f->at))
        read_number(f);
    else if (*f->at == '`')
        read_quoted(f);
    else if (*f->at == '"')
        read_string(f);
    else
        read_punctuation(f);
    if (f->failed) f->tok.kind = TK_END;
}

void vy_front_init(vy_front *f, vy_module *m, const char *text, size_t size)
{
    *f = (vy_front){.m = m, .at = text, .end = text + size, .line_start = text, .line = 1};
    f->funcs_tail = &f->funcs;
    f->pipes_tail = &f->pipes;
    f->consts_tail = &f->consts;
    f->structs_tail = &f->structs;
    if (size >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) f->at += 3; // byte order mark
    vy_advance(f);
}

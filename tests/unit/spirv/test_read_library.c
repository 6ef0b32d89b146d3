// SPDX-License-Identifier: MIT
// test_read_library.c: functions of our library in modules that we emit are read back as the
// operations that they compute (spirv/read/library.c); those that differ in anything are not.
#include "ir/core/op_info.h"
#include "ir/text/text.h"
#include "spirv/read.h"
#include "spirv/spirv.h"
#include "tests/unit/eval_util.h"

#include <spirv/unified1/spirv.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct word_list {
    uint32_t *words;
    size_t count;
} word_list;

static word_list compiled(const char *text, bool strip)
{
    vy_diag d;
    vy_module *m = vy_parse(text, strlen(text), "test");
    if (!vy_module_ok(m)) fail_msg("%s\n%s", vy_module_diag(m)->text, text);
    const vy_spirv_options o = {.strip = strip};
    vy_compiled *c = vy_compile(vy_module_program(m, 0), &o, &d);
    if (!c) fail_msg("%s\n%s", d.text, text);
    word_list w = {malloc(c->word_count * 4), c->word_count};
    memcpy(w.words, c->words, c->word_count * 4);
    vy_compiled_free(c);
    vy_module_free(m);
    return w;
}

static SpvOp op_at(const word_list *w, size_t at) { return (SpvOp)(w->words[at] & 0xffff); }
static size_t next(const word_list *w, size_t at) { return at + (w->words[at] >> 16); }

static size_t find(const word_list *w, size_t at, SpvOp op) // 0: there is none
{
    for (; at < w->count; at = next(w, at))
        if (op_at(w, at) == op) return at;
    return 0;
}

// The function that is called first: its first word and the word past its end; 0: none is called.
static size_t callee(const word_list *w, size_t *end)
{
    const size_t call = find(w, 5, SpvOpFunctionCall);
    for (size_t at = find(w, 5, SpvOpFunction); call && at;
         at = find(w, next(w, at), SpvOpFunction)) {
        *end = next(w, find(w, at, SpvOpFunctionEnd));
        if (w->words[at + 2] == w->words[call + 3]) return at;
    }
    return 0;
}

// The text of the module that is read; NULL: it cannot be read.
static char *text_of(const word_list *w)
{
    vy_module *m = vy_spirv_read(w->words, w->count * 4, "test.spv", NULL);
    char *text = vy_module_ok(m) ? vy_print(m, NULL) : NULL;
    vy_module_free(m);
    return text;
}

static bool reads_as(const word_list *w, const char *call)
{
    char *text = text_of(w);
    const bool is = text && strstr(text, call);
    free(text);
    return is;
}

// ------------------------------------------------------------------------- all functions there are
typedef struct function {
    char call[40]; // "atan2("
    char text[400];
} function;

static function one(const char *name, const char *before, uint32_t arity, bool wide, bool exact)
{
    const char *type = wide ? "f64" : "f32";
    function f;
    snprintf(f.call, sizeof f.call, "%s(", name);
    snprintf(f.text, sizeof f.text,
             "%sprogram t(x: in %s[1], y: in %s[1], r: out %s[1]) { r[0] = %s(%sx[0]%s); }",
             exact ? "@exact " : "", type, type, type, name, before, arity == 2 ? ", y[0]" : "");
    return f;
}

static void each(void (*test)(const function *f, uint32_t *count), uint32_t *count)
{
    for (uint32_t k = 0; k < 4; k++) {
        const bool wide = k & 1, exact = k & 2;
        for (vy_op op = 0; op < VY_OP_COUNT; op++) {
            const vy_op_info *i = &vy_op_infos[op];
            if (i->work != VY_WORK_MATH || i->form != VY_FORM_CALL || i->rule != VY_RULE_F)
                continue;
            const function f = one(i->text, "", i->arity, wide, exact);
            test(&f, count);
        }
        function f = one("polygamma", "0, ", 1, wide, exact); // its function is digamma
        test(&f, count);
        f = one("polygamma", "3, ", 1, wide, exact);
        test(&f, count);
    }
}

static void read_back(const function *f, uint32_t *count)
{
    size_t end, again_end;
    word_list w = compiled(f->text, false);
    const size_t at = callee(&w, &end);
    if (at) { // rsqrt needs no function of ours, where it is not exact
        char *text = text_of(&w);
        if (!text || !strstr(text, f->call) || strlen(text) > 400)
            fail_msg("%s is read as\n%s", f->text, text ? text : "nothing");
        word_list again = compiled(text, false);
        const size_t from = callee(&again, &again_end);
        assert_true(from && again_end - from == end - at);
        free(again.words);
        free(text);
        ++*count;
    }
    free(w.words);
}

static void all_functions(void **state)
{
    (void)state;
    uint32_t count = 0;
    each(read_back, &count);
    assert_in_range(count, 120, 1000);
}

// ------------------------------------------------------------------------ changed in a single word
// An opcode of the same form that computes something else; 0: none.
static uint32_t other_op(SpvOp op)
{
    static const SpvOp pairs[][2] = {{SpvOpFAdd, SpvOpFSub},
                                     {SpvOpFMul, SpvOpFDiv},
                                     {SpvOpIAdd, SpvOpISub},
                                     {SpvOpFOrdLessThan, SpvOpFOrdGreaterThan},
                                     {SpvOpFOrdEqual, SpvOpFOrdNotEqual}};
    for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++)
        for (int i = 0; i < 2; i++)
            if (pairs[k][i] == op) return pairs[k][1 - i];
    return 0;
}

static void refuse(word_list *w, size_t at, uint32_t word, const function *f)
{
    const uint32_t old = w->words[at];
    w->words[at] = word;
    if (reads_as(w, f->call)) fail_msg("%s: word %zu is not looked at", f->text, at);
    w->words[at] = old;
}

static void change_body(const function *f, uint32_t *count)
{
    size_t end, seen = 0;
    if (strstr(f->text, "@exact")) return; // half of the functions suffice
    word_list w = compiled(f->text, false);
    const size_t function = callee(&w, &end);
    for (size_t at = function; function && at < end; at = next(&w, at)) {
        const uint32_t other = other_op(op_at(&w, at));
        if (!other || seen++ % 64) continue; // of many, some
        refuse(&w, at, (w.words[at] & 0xffff0000u) | other, f);
        if (w.words[at + 3] != w.words[at + 4]) refuse(&w, at + 3, w.words[at + 4], f);
        ++*count;
    }
    free(w.words);
}

static void bodies(void **state)
{
    (void)state;
    uint32_t count = 0;
    each(change_body, &count);
    assert_in_range(count, 60, 100000);
}

static bool is_within(const word_list *w, size_t from, size_t end, uint32_t id)
{
    for (size_t at = from; at < end; at = next(w, at))
        if ((w->words[at] >> 16) > 2 && w->words[at + 2] == id) return true;
    return false;
}

static void undecorated(word_list *w, size_t at, const function *f)
{
    uint32_t old[3], nop = 1u << 16 | SpvOpNop;
    memcpy(old, w->words + at, sizeof old);
    memcpy(w->words + at, (uint32_t[]){nop, nop, nop}, sizeof old);
    if (reads_as(w, f->call)) fail_msg("the decoration of %u is not looked at", old[1]);
    memcpy(w->words + at, old, sizeof old);
}

// Constants and decorations are outside of the function.
static void around(void **state)
{
    (void)state;
    const function f = one("sin", "", 1, false, false);
    size_t end;
    uint32_t constants = 0, decorations = 0;
    word_list w = compiled(f.text, false);
    const size_t from = callee(&w, &end);
    for (size_t at = 5; at < from; at = next(&w, at)) {
        if (op_at(&w, at) == SpvOpConstant && (w.words[at + 3] >> 24) > 0x30) { // a float
            refuse(&w, at + 3, w.words[at + 3] ^ 1, &f);
            constants++;
        }
        if (op_at(&w, at) == SpvOpDecorate && w.words[at + 2] == SpvDecorationNoContraction &&
            is_within(&w, from, end, w.words[at + 1])) {
            refuse(&w, at + 2, SpvDecorationRelaxedPrecision, &f);
            undecorated(&w, at, &f);
            decorations++;
        }
    }
    assert_true(constants > 8 && decorations > 8);
    free(w.words);
}

// A function's name is not enough, and one without a name is inlined.
static void names(void **state)
{
    (void)state;
    word_list sin = compiled(one("sin", "", 1, false, false).text, false);
    const function f = one("cos", "", 1, false, false);
    assert_true(reads_as(&sin, "sin("));
    for (size_t at = 5; at; at = find(&sin, next(&sin, at), SpvOpName)) {
        char *name = (char *)&sin.words[at + 2];
        if (op_at(&sin, at) == SpvOpName && !strcmp(name, "sin_plain")) memcpy(name, "cos", 3);
    }
    assert_false(reads_as(&sin, "sin(") || reads_as(&sin, "cos("));
    free(sin.words);
    word_list nameless = compiled(f.text, true);
    assert_false(reads_as(&nameless, "cos("));
    free(nameless.words);
}

// Where something else that is executed is exact, sin is another function than the one that is
// there; what only functions of the library have decorated does not make the shader exact.
static void exactness(void **state)
{
    (void)state;
    const char *text = "program t(x: in f32[1], r: out f32[1]) { r[0] = sin(x[0]) + erf(x[0]); }";
    word_list w = compiled(text, false);
    char *read = text_of(&w);
    assert_non_null(read);
    assert_null(strstr(read, "@exact"));
    assert_non_null(strstr(read, "sin("));
    free(read);
    size_t add = find(&w, 5, SpvOpFAdd);
    for (size_t at = find(&w, 5, SpvOpDecorate); at; at = find(&w, next(&w, at), SpvOpDecorate)) {
        if (w.words[at + 2] != SpvDecorationNoContraction) continue;
        w.words[at + 1] = w.words[add + 2]; // the sum of both
        break;
    }
    read = text_of(&w);
    assert_non_null(read);
    assert_non_null(strstr(read, "@exact"));
    assert_null(strstr(read, "sin("));
    free(read);
    free(w.words);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_functions), cmocka_unit_test(bodies),    cmocka_unit_test(around),
        cmocka_unit_test(names),         cmocka_unit_test(exactness),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

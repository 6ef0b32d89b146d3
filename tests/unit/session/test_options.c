// SPDX-License-Identifier: MIT
// test_options.c: structs of options from callers that were compiled with other headers: an older
// one lacks members, which are then zero whatever follows it in memory; a newer one has members
// that must be zero.
#include "session/check.h"
#include "session/fit.h"
#include "session/load.h"
#include "session/shader.h"

#include "autodiff/check.h"
#include "autodiff/explain.h"
#include "autodiff/train.h"
#include "autodiff/transform.h"
#include "ir/pipeline.h"
#include "spirv/read.h"
#include "spirv/spirv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const char text[] = "program f(w: in f32[N], loss: out f32[1], N: u32) over(i: N) {\n"
                           "    atomic_add(loss[0], w[i] * w[i]);\n"
                           "}\n";

static vy_module *module(void)
{
    vy_module *m = vy_parse(text, strlen(text), "f.vyre");
    assert_true(m && vy_module_ok(m));
    return m;
}

// Calls an entry point with the options that `o` points to; whether it succeeded.
typedef bool entry(const void *o, vy_diag *d);

static bool is_made(vy_module *m, vy_diag *d)
{
    const bool ok = m && vy_module_ok(m);
    if (m && !ok) *d = *vy_module_diag(m);
    vy_module_free(m);
    return ok;
}

static bool parse(const void *o, vy_diag *d)
{
    return is_made(vy_parse_from(text, strlen(text), "f", o), d);
}

static bool eval(const void *o, vy_diag *d)
{
    vy_module *m = module();
    float w[2] = {1, 2}, loss = 0;
    const uint64_t two = 2, one = 1;
    const vy_eval_buffer b[] = {{"w", w, &two, 1}, {"loss", &loss, &one, 1}};
    const bool ok = vy_eval(vy_module_program(m, 0), b, 2, NULL, 0, o, NULL, d) && loss == 5;
    vy_module_free(m);
    return ok;
}

static bool optimise(const void *o, vy_diag *d)
{
    vy_module *m = module();
    vy_optimize(m, o);
    return is_made(m, d);
}

static bool derive(const void *o, vy_diag *d, int how)
{
    vy_module *m = module();
    const vy_ref source = {0, false};
    vy_explanation *e = NULL;
    vy_pipeline_explanation *p = NULL;
    bool ok = false;
    if (how == 0) ok = is_made(vy_grad(m, o, d), d);
    if (how == 1) ok = is_made(vy_jvp(m, o, d), d);
    if (how == 2) ok = vy_transform(m, source, o, d) != NULL;
    if (how == 3) ok = (e = vy_explain(m, o, NULL, NULL, d)) != NULL;
    if (how == 4) ok = (e = vy_explain(m, NULL, o, NULL, d)) != NULL;
    if (how == 5) ok = !(p = vy_explain_pipeline(m, o, NULL, NULL, d)) && !strcmp(d->code, "E0003");
    vy_explanation_free(e);
    vy_pipeline_explanation_free(p);
    vy_module_free(m);
    return ok;
}

static bool grad(const void *o, vy_diag *d) { return derive(o, d, 0); }
static bool jvp(const void *o, vy_diag *d) { return derive(o, d, 1); }
static bool transform(const void *o, vy_diag *d) { return derive(o, d, 2); }
static bool explain(const void *o, vy_diag *d) { return derive(o, d, 3); }
static bool explain_optimised(const void *o, vy_diag *d) { return derive(o, d, 4); }

static bool train(const void *o, vy_diag *d)
{
    vy_module *m = module();
    vy_training made;
    const bool ok = is_made(vy_train(m, o, &made, d), d);
    vy_module_free(m);
    return ok;
}

static bool compile(const void *o, vy_diag *d)
{
    vy_module *m = module();
    vy_compiled *c = vy_compile_result(m, o, d);
    vy_compiled_free(c);
    vy_module_free(m);
    return c != NULL;
}

static bool check(const void *o, vy_diag *d)
{
    vy_check_result *r = vy_grad_check(o, d);
    vy_check_free(r);
    return r != NULL;
}

static bool open_session(const void *o, vy_diag *d)
{
    vys_session *s = NULL;
    const bool ok = vys_open(o, &s, d);
    vys_close(s);
    return ok;
}

static bool in_session(const void *settings, const void *fit, const void *checked, vy_diag *d)
{
    static const uint64_t two = 2;
    static const float w[] = {1, 2};
    vys_session *s = NULL;
    vys_task *t = NULL;
    vy_check_result *r = NULL;
    const vys_settings gradient = {.order = 1};
    bool ok = vys_open(&(vys_session_desc){.interpreter = true}, &s, d);
    ok = ok &&
         (fit ? vys_fit_parse(s, text, strlen(text), "f", fit, NULL, &t, d)
              : vys_task_parse(s, text, strlen(text), "f", checked ? &gradient : settings, &t, d));
    ok = ok &&
         (!checked || (vys_set(t, "w", VY_F32, 1, &two, w, d) && vys_check(t, checked, &r, d)));
    vy_check_free(r);
    vys_task_free(t);
    vys_close(s);
    return ok;
}

static bool task(const void *o, vy_diag *d) { return in_session(o, NULL, NULL, d); }
static bool fit(const void *o, vy_diag *d) { return in_session(NULL, o, NULL, d); }
static bool check_task(const void *o, vy_diag *d) { return in_session(NULL, NULL, o, d); }

static bool load(const void *o, vy_diag *d)
{
    vy_module *m = NULL;
    const bool ok = vys_load_data(text, strlen(text), "f", o, &m, d);
    vy_module_free(m);
    return ok;
}

static bool settings_check(const void *o, vy_diag *d) { return vys_settings_check(o, d); }

static const char *const params[] = {"w"};
static const vy_train_options training = {.loss = "loss",
                                          .params = params,
                                          .param_count = 1,
                                          .lr = 0.1};
static const vys_fit fitting = {
    .steps = 2, .train = {.loss = "loss", .params = params, .param_count = 1, .lr = 0.1}};
static const vys_session_desc interpreter = {.interpreter = true};

static const struct {
    const char *name;
    entry *call;
    size_t size;
    const void *from; // members that it needs; NULL: none
    const char *code;
    bool cut; // an older version may lack the last member
} rows[] = {
    {"vy_parse_options", parse, sizeof(vy_parse_options), NULL, "E0003", true},
    {"vy_eval_options", eval, sizeof(vy_eval_options), NULL, "E0003", true},
    {"vy_opt_options", optimise, sizeof(vy_opt_options), NULL, "E0003", true},
    {"vy_opt_options", explain_optimised, sizeof(vy_opt_options), NULL, "E0003", true},
    {"vy_grad_options", grad, sizeof(vy_grad_options), NULL, "E0003", true},
    {"vy_grad_options", jvp, sizeof(vy_grad_options), NULL, "E0003", true},
    {"vy_grad_options", transform, sizeof(vy_grad_options), NULL, "E0003", true},
    {"vy_grad_options", explain, sizeof(vy_grad_options), NULL, "E0003", true},
    {"vy_train_options", train, sizeof(vy_train_options), &training, "E0003", true},
    {"vy_spirv_options", compile, sizeof(vy_spirv_options), NULL, "E0003", true},
    {"vys_session_desc", open_session, sizeof(vys_session_desc), &interpreter, "E0801", true},
    {"vys_settings", task, sizeof(vys_settings), NULL, "E0801", true},
    {"vys_settings", settings_check, sizeof(vys_settings), NULL, "E0801", true},
    {"vys_fit", fit, sizeof(vys_fit), &fitting, "E0801", true},
    {"vys_check_options", check_task, sizeof(vys_check_options), NULL, "E0801", true},
    {"vys_load_options", load, sizeof(vys_load_options), NULL, "E0801", true},
};

enum { MOST = 512 };

static void refused(size_t i, const void *o, const char *words)
{
    vy_diag d = {0};
    if (rows[i].call(o, &d)) fail_msg("%zu: %s was taken", i, rows[i].name);
    if (strcmp(d.code, rows[i].code) || !strstr(d.text, rows[i].name) || !strstr(d.text, words))
        fail_msg("%zu: [%s] %s", i, d.code, d.text);
}

static void taken(size_t i, const void *o)
{
    vy_diag d = {0};
    if (!rows[i].call(o, &d)) fail_msg("%zu: %s: [%s] %s", i, rows[i].name, d.code, d.text);
}

static void test_versions(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        union {
            size_t size;
            unsigned char bytes[MOST];
        } o = {0};
        const size_t known = rows[i].size;
        assert_true(known + 8 <= MOST);
        if (rows[i].from) memcpy(&o, rows[i].from, known);
        taken(i, &o); // no size: as it is
        o.size = known;
        taken(i, &o);
        o.size = known + 8; // a later version, whose new member is zero
        taken(i, &o);
        o.bytes[known + 7] = 1;
        refused(i, &o, "has a member that this version does not know");
        o.size = 4;
        refused(i, &o, ".size is too small");
    }
}

// Bytes behind a shorter struct are not its members.
static void test_older(void **state)
{
    (void)state;
    vy_diag d = {0};
    vy_grad_options g;
    memset(&g, 0xff, sizeof g);
    g.size = offsetof(vy_grad_options, of);
    g.program = NULL;
    assert_true(grad(&g, &d));
    vys_settings s;
    memset(&s, 0xff, sizeof s);
    s.size = offsetof(vys_settings, of);
    s.program = NULL;
    assert_true(task(&s, &d));
    vy_spirv_options c;
    memset(&c, 0xff, sizeof c);
    c.size = offsetof(vy_spirv_options, target);
    assert_true(compile(&c, &d));
}

// Those that have no result to make of the program above.
static void test_others(void **state)
{
    (void)state;
    vy_diag d = {0};
    vy_module *none;
    void *words;
    size_t size;
    assert_false(check(&(vy_check_request){.size = 1}, &d));
    assert_string_equal(d.code, "E0003");
    none = vy_spirv_read("", 0, "f", &(vy_read_options){.size = 1});
    assert_non_null(strstr(vy_module_diag(none)->text, "vy_read_options.size"));
    vy_module_free(none);
    assert_true(derive(&(vy_grad_options){.size = 1}, &d, 5));
    d = (vy_diag){0};
    assert_false(vys_shader_compile("f.comp", &(vys_shader_options){.size = 1}, &words, &size, &d));
    assert_non_null(strstr(d.text, "vys_shader_options.size"));
    vys_comm comm = {.size = 1};
    vys_fit f = fitting;
    f.comm = &comm;
    d = (vy_diag){0};
    assert_false(fit(&f, &d));
    assert_non_null(strstr(d.text, "vys_comm.size"));
    f = fitting;
    f.train.size = 1;
    d = (vy_diag){0};
    assert_false(fit(&f, &d));
    assert_non_null(strstr(d.text, "vy_train_options.size"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_versions),
        cmocka_unit_test(test_older),
        cmocka_unit_test(test_others),
    };
    return cmocka_run_group_tests_name("options", tests, NULL, NULL);
}

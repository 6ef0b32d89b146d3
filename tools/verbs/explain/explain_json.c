// SPDX-License-Identifier: MIT
// explain_json.c: `explain --json`; the fields are listed in docs/language.md 11.
#include "tools/verbs/explain/explain.h"

static bool put_bool(cJSON *o, const char *key, bool value)
{
    return cJSON_AddBoolToObject(o, key, value) != NULL;
}

bool explain_put_amount(cJSON *o, const char *key, const vy_amount *a)
{
    cJSON *x = cJSON_AddObjectToObject(o, key);
    if (!x || !json_string(x, "formula", a->text)) return false;
    return (a->known ? json_integer(x, "value", a->value) : json_string(x, "value", NULL)) &&
           put_bool(x, "at_most", a->known && a->atmost);
}

static bool put_pair(cJSON *o, const char *key, const vy_amount *each, const vy_amount *all)
{
    cJSON *x = cJSON_AddObjectToObject(o, key);
    return x && explain_put_amount(x, "each", each) && explain_put_amount(x, "all", all);
}

// `each` (per invocation) is null where there is no such amount.
static bool put_bytes(cJSON *o, bool per_invocation, const vy_amount *each, const vy_amount *all)
{
    cJSON *x = cJSON_AddObjectToObject(o, "bytes");
    return x &&
           (per_invocation ? explain_put_amount(x, "each", each) : json_string(x, "each", NULL)) &&
           explain_put_amount(x, "all", all);
}

bool explain_put_line(cJSON *o, const char *key, const vy_module *m, const char *file_key,
                      uint32_t line)
{
    const vy_file_place p = vy_module_place(m, line);
    if (!line) return json_string(o, key, NULL);
    return json_integer(o, key, p.line) &&
           (p.file == vy_module_file(m) || json_string(o, file_key, p.file));
}

cJSON *explain_item(cJSON *list)
{
    cJSON *o = list ? cJSON_CreateObject() : NULL;
    if (!o || cJSON_AddItemToArray(list, o)) return o;
    cJSON_Delete(o);
    return NULL;
}

static bool put_gradients(const vy_explanation *e, const vy_module *m, cJSON *list)
{
    for (uint32_t i = 0; i < e->gradient_count; i++) {
        const vy_explain_gradient *g = &e->gradients[i];
        cJSON *o = explain_item(list);
        if (!o || !json_string(o, "name", g->name) || !json_string(o, "of", g->of) ||
            !json_string(o, "type", vy_type_name(g->type)) || !json_string(o, "shape", g->shape) ||
            !json_string(o, "sum", vy_sum_kind_name(g->sum)) ||
            !json_integer(o, "places", g->places) || !json_string(o, "start", g->start) ||
            !json_string(o, "variable", g->variable) ||
            !explain_put_line(o, "line", m, "file", g->line) ||
            !json_string(o, "program", g->program) || !json_string(o, "map", g->map) ||
            !json_string(o, "why", g->why) ||
            !explain_put_line(o, "why_line", m, "why_file", g->why_line) ||
            !json_string(o, "tree", g->tree) || !json_string(o, "assumes", g->assumes) ||
            !json_string(o, "otherwise", g->otherwise))
            return false;
    }
    return list != NULL;
}

bool explain_put_buffers(const vy_explain_buffer *buffers, uint32_t count, const names *shaped,
                         cJSON *list)
{
    static const char *const access[] = {"in", "out", "inout", "shared", "local"};
    for (uint32_t i = 0; i < count; i++) {
        const vy_explain_buffer *b = &buffers[i];
        cJSON *o = explain_item(list);
        if (!o || !json_string(o, "name", b->name) || !json_string(o, "access", access[b->cls]) ||
            !json_string(o, "type", vy_type_name(b->type)) || !json_string(o, "shape", b->shape) ||
            !put_bool(o, "shape_found", names_have(shaped, b->name)) ||
            !json_string(o, "adjoint", vy_adjoint_kind_name(b->adjoint)) ||
            !json_string(o, "adjoint_name", b->adjoint_name) ||
            (b->rewound && !put_bool(o, "rewound", true)))
            return false;
    }
    return list != NULL;
}

static bool put_accesses(const vy_explanation *e, const vy_module *m, cJSON *list)
{
    for (uint32_t i = 0; i < e->access_count; i++) {
        const vy_explain_access *a = &e->accesses[i];
        cJSON *o = explain_item(list);
        if (!o || !json_string(o, "buffer", a->buffer) ||
            !json_string(o, "kind", vy_access_kind_name(a->kind)) ||
            !explain_put_line(o, "line", m, "file", a->line) ||
            !json_string(o, "relation", a->relation))
            return false;
        if (a->relation ? !put_bool(o, "exact", a->exact)
                        : !json_integer(o, "axis", a->axis) || !json_string(o, "why", a->why))
            return false;
    }
    return list != NULL;
}

static bool put_copies(cJSON *o, const char *key, uint32_t copies, const vy_amount *each,
                       const vy_amount *all)
{
    cJSON *x = cJSON_AddObjectToObject(o, key);
    return x && json_integer(x, "copies", copies) && explain_put_amount(x, "each", each) &&
           explain_put_amount(x, "all", all);
}

static bool put_carried(const vy_explain_loop *l, cJSON *list)
{
    for (uint32_t i = 0; i < l->carried_count; i++) {
        const vy_explain_carried *c = &l->carried[i];
        cJSON *o = explain_item(list);
        if (!o || !json_string(o, "name", c->name) ||
            !json_string(o, "type", vy_type_name(c->type)) ||
            !json_string(o, "how", vy_had_how_name(c->how)))
            return false;
    }
    return list != NULL;
}

static bool put_column(cJSON *o, uint32_t column)
{
    return column ? json_integer(o, "column", column) : json_string(o, "column", NULL);
}

static bool put_loops(const vy_explanation *e, const vy_module *m, cJSON *list)
{
    for (uint32_t i = 0; i < e->loop_count; i++) {
        const vy_explain_loop *l = &e->loops[i];
        cJSON *o = explain_item(list);
        if (!o || !json_string(o, "name", l->name) ||
            !explain_put_line(o, "line", m, "file", l->line) || !put_column(o, l->column) ||
            !put_copies(o, "forward", l->forward_copies, &l->forward_each, &l->forward_all) ||
            !put_copies(o, "again", l->again_copies, &l->again_each, &l->again_all) ||
            !put_copies(o, "reversed", l->reversed_copies, &l->reversed_each, &l->reversed_all) ||
            !put_carried(l, cJSON_AddArrayToObject(o, "carried")))
            return false;
    }
    return list != NULL;
}

static bool put_values(const vy_explanation *e, const vy_module *m, cJSON *list)
{
    for (uint32_t i = 0; i < e->value_count; i++) {
        const vy_explain_value *v = &e->values[i];
        cJSON *o = explain_item(list);
        if (!o || !json_string(o, "name", v->name) || !json_string(o, "from", v->from) ||
            !explain_put_line(o, "line", m, "file", v->line) ||
            !json_string(o, "type", vy_type_name(v->type)) || !json_string(o, "tape", v->tape) ||
            !json_string(o, "loop", v->loop) ||
            !explain_put_line(o, "loop_line", m, "loop_file", v->loop_line) ||
            !json_string(o, "why", vy_kept_why_name(v->why)) ||
            !put_bytes(o, v->per_invocation, &v->each, &v->all))
            return false;
    }
    return list != NULL;
}

cJSON *explain_put_workspace(const vy_explain_workspace *w, cJSON *list)
{
    cJSON *o = explain_item(list);
    const bool ok = o && json_string(o, "name", w->name) && json_string(o, "of", w->of) &&
                    json_string(o, "kind", vy_work_kind_name(w->kind)) &&
                    json_string(o, "type", vy_type_name(w->type)) &&
                    json_string(o, "shape", w->shape);
    return ok ? o : NULL;
}

static bool put_workspaces(const vy_explanation *e, cJSON *list)
{
    for (uint32_t i = 0; i < e->workspace_count; i++) {
        const vy_explain_workspace *w = &e->workspaces[i];
        cJSON *o = explain_put_workspace(w, list);
        if (!o || !put_bytes(o, w->per_invocation, &w->each, &w->all)) return false;
    }
    return list != NULL;
}

static bool put_operations(const vy_explanation *e, cJSON *o)
{
    const vy_cost *f = &e->forward, *g = &e->gradient;
    for (int k = 0; o && k < VY_COST_COUNT; k++) {
        cJSON *x = cJSON_AddObjectToObject(o, vy_cost_class_name((vy_cost_class)k));
        if (!x || !put_pair(x, "forward", &f->each[k], &f->all[k]) ||
            !put_pair(x, "gradient", &g->each[k], &g->all[k]))
            return false;
    }
    cJSON *x = o ? cJSON_AddObjectToObject(o, "flops") : NULL;
    return x && put_pair(x, "forward", &f->each_flops, &f->all_flops) &&
           put_pair(x, "gradient", &g->each_flops, &g->all_flops);
}

bool explain_json(const vy_explanation *e, const command *c, text *out)
{
    const vy_module *m = c->module;
    cJSON *top = cJSON_CreateObject();
    cJSON *steps = top ? cJSON_CreateStringArray(e->steps, (int)e->step_count) : NULL;
    bool ok = steps && json_string(top, "program", e->program);
    if (ok)
        ok = cJSON_AddItemToObject(top, "steps", steps);
    else
        cJSON_Delete(steps);
    ok = ok && explain_put_amount(top, "invocations", &e->forward.invocations) &&
         put_gradients(e, m, cJSON_AddArrayToObject(top, "gradients")) &&
         explain_put_buffers(e->buffers, e->buffer_count, &c->shaped,
                             cJSON_AddArrayToObject(top, "buffers")) &&
         put_accesses(e, m, cJSON_AddArrayToObject(top, "accesses")) &&
         json_integer(top, "accesses_left_out", e->accesses_left_out) &&
         put_loops(e, m, cJSON_AddArrayToObject(top, "loops")) &&
         put_values(e, m, cJSON_AddArrayToObject(top, "values")) &&
         put_workspaces(e, cJSON_AddArrayToObject(top, "workspaces")) &&
         put_pair(top, "tape_bytes", &e->tape_each, &e->tape_all) &&
         explain_put_amount(top, "workspace_bytes", &e->work_all) &&
         explain_keep_json(c, &e->work_all, top) &&
         put_operations(e, cJSON_AddObjectToObject(top, "operations")) &&
         put_bool(top, "conditional", e->forward.conditional || e->gradient.conditional) &&
         json_number(top, "ratio", explain_ratio(e), 4);
    if (ok) return json_finish(top, out);
    cJSON_Delete(top);
    return false;
}

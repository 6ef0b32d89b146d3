// SPDX-License-Identifier: MIT
// explain_pipeline_json.c: `explain --json` of a pipeline; the fields are listed in
// docs/language.md 11.
#include "tools/verbs/explain/explain.h"

static bool put_names(cJSON *o, const char *key, const char *const *names, uint32_t count)
{
    cJSON *list = cJSON_CreateStringArray(names, (int)count);
    if (list && cJSON_AddItemToObject(o, key, list)) return true;
    cJSON_Delete(list);
    return false;
}

static bool put_kept(const vy_pipeline_explanation *e, const vy_module *m, cJSON *list)
{
    for (uint32_t i = 0; i < e->kept_count; i++) {
        const vy_explain_kept *k = &e->kept[i];
        cJSON *o = explain_item(list);
        if (!o || !json_string(o, "name", k->name) || !json_string(o, "before", k->before) ||
            !explain_put_line(o, "line", m, "file", k->line) ||
            !json_string(o, "type", vy_type_name(k->type)) || !json_string(o, "tape", k->tape) ||
            !json_string(o, "loop", k->loop) ||
            !explain_put_line(o, "loop_line", m, "loop_file", k->loop_line) ||
            !json_string(o, "why", vy_kept_why_name(k->why)) ||
            !explain_put_amount(o, "elements", &k->each) ||
            !explain_put_amount(o, "bytes", &k->all))
            return false;
    }
    return list != NULL;
}

static bool put_results(const vy_explain_request *r, cJSON *list)
{
    static const char *const modes[] = {"reads", "overwritten", "in place", "added"};
    for (uint32_t i = 0; i < r->result_count; i++) {
        const vy_explain_result *g = &r->results[i];
        cJSON *o = explain_item(list);
        if (!o || !json_string(o, "name", g->name) || !json_string(o, "of", g->of) ||
            !json_string(o, "mode", modes[g->mode]) ||
            !json_string(o, "sum", vy_sum_kind_name(g->sum)) ||
            !json_string(o, "program", g->program))
            return false;
    }
    return list != NULL;
}

static bool put_requests(const vy_pipeline_explanation *e, const vy_module *m, cJSON *list)
{
    for (uint32_t i = 0; i < e->request_count; i++) {
        const vy_explain_request *r = &e->requests[i];
        cJSON *o = explain_item(list);
        if (!o || !json_string(o, "of", r->of) ||
            !explain_put_line(o, "line", m, "file", r->line) || !json_string(o, "name", r->name) ||
            !put_names(o, "programs", r->programs, r->program_count) ||
            !put_results(r, cJSON_AddArrayToObject(o, "gradients")))
            return false;
    }
    return list != NULL;
}

static bool put_workspaces(const vy_pipeline_explanation *e, cJSON *list)
{
    for (uint32_t i = 0; i < e->workspace_count; i++) {
        const vy_explain_workspace *w = &e->workspaces[i];
        cJSON *o = explain_put_workspace(w, list);
        if (!o || !explain_put_amount(o, "bytes", &w->all)) return false;
    }
    return list != NULL;
}

static bool put_pair(cJSON *o, const char *key, const vy_amount *f, const vy_amount *g)
{
    cJSON *x = cJSON_AddObjectToObject(o, key);
    return x && explain_put_amount(x, "forward", f) && explain_put_amount(x, "gradient", g);
}

static bool put_steps(const vy_pipeline_explanation *e, cJSON *o)
{
    for (int k = 0; o && k < VY_PIPE_WORK_COUNT; k++)
        if (!put_pair(o, vy_pipe_work_name((vy_pipe_work)k), &e->forward.work[k],
                      &e->gradient.work[k]))
            return false;
    return o != NULL;
}

bool explain_pipeline_json(const vy_pipeline_explanation *e, const command *c, text *out)
{
    const vy_module *m = c->module;
    cJSON *top = cJSON_CreateObject();
    const bool ok = top && json_string(top, "pipeline", e->forward.name) &&
                    json_string(top, "gradient", e->gradient.name) &&
                    explain_put_buffers(e->buffers, e->buffer_count, &c->shaped,
                                        cJSON_AddArrayToObject(top, "buffers")) &&
                    put_kept(e, m, cJSON_AddArrayToObject(top, "kept")) &&
                    put_requests(e, m, cJSON_AddArrayToObject(top, "requests")) &&
                    put_names(top, "conditions", e->conditions, e->condition_count) &&
                    put_names(top, "schedules", e->schedules, e->schedule_count) &&
                    put_workspaces(e, cJSON_AddArrayToObject(top, "workspaces")) &&
                    put_steps(e, cJSON_AddObjectToObject(top, "steps")) &&
                    explain_put_amount(top, "tape_bytes", &e->tape) &&
                    put_pair(top, "workspace_bytes", &e->forward.bytes, &e->gradient.bytes) &&
                    explain_keep_json(c, &e->gradient.bytes, top);
    if (ok) return json_finish(top, out);
    cJSON_Delete(top);
    return false;
}

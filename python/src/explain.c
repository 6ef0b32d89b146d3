// SPDX-License-Identifier: MIT
// explain.c: autodiff/explain.h as dictionaries.
#include "python/src/core.h"

#include "autodiff/explain.h"
#include "session/work.h"

#include <stdlib.h>

static PyObject *append(PyObject *list, PyObject *row) // takes the row over
{
    const int bad = !row || PyList_Append(list, row) < 0;
    Py_XDECREF(row);
    return bad ? NULL : list;
}

static PyObject *of_program(const vy_explanation *e)
{
    PyObject *gradients = PyList_New(0), *workspaces = PyList_New(0);
    bool ok = gradients && workspaces;
    for (uint32_t i = 0; ok && i < e->gradient_count; i++) {
        const vy_explain_gradient *g = &e->gradients[i];
        ok = append(gradients, Py_BuildValue("{ss ss ss ss sz}", "name", g->name, "of", g->of,
                                             "sum", vy_sum_kind_name(g->sum), "shape", g->shape,
                                             "assumes", g->assumes));
    }
    for (uint32_t i = 0; ok && i < e->workspace_count; i++) {
        const vy_explain_workspace *w = &e->workspaces[i];
        ok = append(workspaces,
                    Py_BuildValue("{ss ss ss sz}", "name", w->name, "kind",
                                  vy_work_kind_name(w->kind), "shape", w->shape, "of", w->of));
    }
    if (ok) return Py_BuildValue("{sN sN}", "gradients", gradients, "workspaces", workspaces);
    Py_XDECREF(gradients);
    Py_XDECREF(workspaces);
    return NULL;
}

static bool add_request(PyObject *gradients, const vy_explain_request *r)
{
    bool ok = true;
    for (uint32_t i = 0; ok && i < r->result_count; i++)
        ok = append(gradients,
                    Py_BuildValue("{ss ss ss ss sz sz}", "name", r->results[i].name, "of",
                                  r->results[i].of, "sum", vy_sum_kind_name(r->results[i].sum),
                                  "program", r->of, "shape", NULL, "assumes", NULL));
    return ok;
}

static PyObject *of_pipeline(const vy_pipeline_explanation *e)
{
    PyObject *gradients = PyList_New(0), *workspaces = PyList_New(0), *conditions = PyList_New(0);
    bool ok = gradients && workspaces && conditions;
    for (uint32_t i = 0; ok && i < e->request_count; i++)
        ok = add_request(gradients, &e->requests[i]);
    for (uint32_t i = 0; ok && i < e->condition_count; i++)
        ok = append(conditions, PyUnicode_FromString(e->conditions[i]));
    for (uint32_t i = 0; ok && i < e->workspace_count; i++) {
        const vy_explain_workspace *w = &e->workspaces[i];
        ok = append(workspaces,
                    Py_BuildValue("{ss ss ss sz}", "name", w->name, "kind",
                                  vy_work_kind_name(w->kind), "shape", w->shape, "of", w->of));
    }
    if (ok)
        return Py_BuildValue("{sN sN sN}", "gradients", gradients, "workspaces", workspaces,
                             "conditions", conditions);
    Py_XDECREF(gradients);
    Py_XDECREF(workspaces);
    Py_XDECREF(conditions);
    return NULL;
}

typedef struct explained {
    vy_explanation *program;
    vy_pipeline_explanation *pipeline;
} explained;

static bool explain_as(const vy_module *m, const vys_settings *s, explained *out, vy_diag *d)
{
    vys_work w = {.settings = *s, .module = m};
    vys_entry from;
    vy_grad_options g;
    const char **results;
    if (!vys_entry_find(m, s->program, NULL, &from, d) ||
        !vys_grad_options(&w, from, false, s->seed_buffer, &results, &g, d))
        return false;
    free(results);
    g.revolved = NULL;
    if (vy_explains_pipeline(m, &g))
        out->pipeline = vy_explain_pipeline(m, &g, NULL, NULL, d);
    else
        out->program = vy_explain(m, &g, NULL, NULL, d);
    return out->program || out->pipeline;
}

PyObject *explain_module(PyObject *self, PyObject *dictionary)
{
    const vy_module *m = ((module_object *)self)->m;
    held_settings h;
    explained e = {0};
    vy_diag d = {0};
    bool ok;
    if (!take_settings(dictionary, &h)) return NULL;
    Py_BEGIN_ALLOW_THREADS ok = explain_as(m, &h.s, &e, &d);
    Py_END_ALLOW_THREADS PyObject *out = !ok         ? raise_diag(m, &d)
                                         : e.program ? of_program(e.program)
                                                     : of_pipeline(e.pipeline);
    vy_explanation_free(e.program);
    vy_pipeline_explanation_free(e.pipeline);
    free_settings(&h);
    return out;
}

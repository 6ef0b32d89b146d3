// SPDX-License-Identifier: MIT
// module.c: programs: from files and texts, their derivatives, as text and as SPIR-V.
#include "python/src/core.h"

#include "session/load.h"
#include "session/work.h"

#include <stdlib.h>
#include <string.h>

PyObject *wrap_module(vy_module *m)
{
    module_object *o = PyObject_New(module_object, &module_type);
    if (o)
        o->m = m;
    else
        vy_module_free(m);
    return (PyObject *)o;
}

const vy_module *module_of(PyObject *o)
{
    if (PyObject_TypeCheck(o, &module_type)) return ((module_object *)o)->m;
    PyErr_SetString(PyExc_TypeError, "a module is wanted");
    return NULL;
}

static void dealloc(PyObject *self)
{
    vy_module_free(((module_object *)self)->m);
    PyObject_Free(self);
}

// -------------------------------------------------------------------------------------------- load
// {"K": "2.5"}; `out` has as many as the dictionary.
static bool take_defines(PyObject *given, vy_define **out, uint32_t *count)
{
    PyObject *name, *value;
    Py_ssize_t at = 0;
    *count = 0;
    *out = PyMem_Calloc((size_t)PyDict_Size(given) + 1, sizeof **out);
    if (!*out) return PyErr_NoMemory(), false;
    while (PyDict_Next(given, &at, &name, &value)) {
        vy_define *d = &(*out)[(*count)++];
        d->name = PyUnicode_AsUTF8(name);
        d->value = d->name ? PyUnicode_AsUTF8(value) : NULL;
        if (!d->value) return false;
    }
    return true;
}

typedef struct load_request {
    const char *path; // a file, or the name of
    Py_buffer data;   // … this; data.obj NULL: the file
    vys_load_options o;
    strings includes;
    vy_define *defines, *specs, *samplers;
} load_request;

static bool take_load(PyObject *args, load_request *r)
{
    PyObject *defines, *specs, *samplers, *includes;
    if (!PyArg_ParseTuple(args, "sz*O!O!O!Oz", &r->path, &r->data, &PyDict_Type, &defines,
                          &PyDict_Type, &specs, &PyDict_Type, &samplers, &includes,
                          &r->o.read.entry))
        return false;
    if (!take_strings(includes, &r->includes) ||
        !take_defines(defines, &r->defines, &r->o.define_count) ||
        !take_defines(specs, &r->specs, &r->o.read.spec_count) ||
        !take_defines(samplers, &r->samplers, &r->o.read.sampler_count))
        return false;
    r->o.includes = r->includes.data;
    r->o.include_count = r->includes.count;
    r->o.defines = r->defines;
    r->o.read.specs = r->specs;
    r->o.read.samplers = r->samplers;
    return true;
}

static PyObject *load(PyObject *type, PyObject *args)
{
    (void)type;
    load_request r = {0};
    vy_module *m = NULL;
    vy_diag d = {0};
    PyObject *out = NULL;
    if (take_load(args, &r)) {
        bool ok;
        Py_BEGIN_ALLOW_THREADS ok =
            r.data.obj ? vys_load_data(r.data.buf, (size_t)r.data.len, r.path, &r.o, &m, &d)
                       : vys_load(r.path, &r.o, &m, &d);
        Py_END_ALLOW_THREADS if (ok) { out = wrap_module(m); }
        else
        {
            raise_diag(m, &d);
            vy_module_free(m);
        }
    }
    PyBuffer_Release(&r.data);
    free_strings(&r.includes);
    PyMem_Free(r.defines);
    PyMem_Free(r.specs);
    PyMem_Free(r.samplers);
    return out;
}

// ------------------------------------------------------------------------------------- derivatives
// The derivative, optimised, as `vyre-grad grad` prints it: it can be differentiated again.
static vy_module *derived(const vy_module *m, const vys_settings *s, vy_diag *d)
{
    vys_work w = {.settings = *s, .module = m, .text = true};
    vys_entry from;
    vy_module *out = NULL;
    if (vys_entry_find(m, s->program, NULL, &from, d) && vys_derive(&w, from, NULL, 0, d) &&
        vys_optimize(&w, w.derived, false, NULL, d)) {
        vy_drop_marks(w.derived);
        out = w.derived;
        w.derived = NULL;
    }
    vys_work_free(&w);
    return out;
}

static PyObject *derive(PyObject *self, PyObject *dictionary)
{
    const vy_module *from = ((module_object *)self)->m;
    held_settings h;
    vy_diag d = {0};
    vy_module *m;
    if (!take_settings(dictionary, &h)) return NULL;
    Py_BEGIN_ALLOW_THREADS m = derived(from, &h.s, &d);
    Py_END_ALLOW_THREADS free_settings(&h);
    return m ? wrap_module(m) : raise_diag(from, &d);
}

// ------------------------------------------------------------------------------------------- forms
static PyObject *text(PyObject *self, PyObject *none)
{
    (void)none;
    size_t size;
    char *s = vy_print(((module_object *)self)->m, &size);
    PyObject *out = s ? PyUnicode_DecodeUTF8(s, (Py_ssize_t)size, "strict") : PyErr_NoMemory();
    free(s);
    return out;
}

// Programs and pipelines, in the order of the text.
static PyObject *names(PyObject *self, PyObject *none)
{
    (void)none;
    const vy_module *m = ((module_object *)self)->m;
    PyObject *out = PyList_New(0);
    const uint32_t programs = vy_module_program_count(m), pipelines = vy_module_pipeline_count(m);
    for (uint32_t i = 0; out && i < programs + pipelines; i++) {
        const char *name = i < programs ? vy_program_name(vy_module_program(m, i))
                                        : vy_pipeline_name(vy_module_pipeline(m, i - programs));
        PyObject *s = PyUnicode_FromString(name);
        if (!s || PyList_Append(out, s) < 0) Py_CLEAR(out);
        Py_XDECREF(s);
    }
    return out;
}

// The name of what runs if nothing is said; `wanted`: that one, if it exists.
static PyObject *entry(PyObject *self, PyObject *args)
{
    const vy_module *m = ((module_object *)self)->m;
    const char *wanted;
    vys_entry found;
    vy_diag d = {0};
    if (!PyArg_ParseTuple(args, "z", &wanted)) return NULL;
    if (!vys_entry_find(m, wanted, NULL, &found, &d)) return raise_diag(m, &d);
    return PyUnicode_FromString(vys_entry_name(found));
}

static vy_compiled *compiled(vy_module *copy, const vys_settings *s, const char *program,
                             vy_diag *d)
{
    vys_work w = {.settings = *s, .module = copy};
    vys_entry what;
    const vys_facts any = {0};
    vy_spirv_options o = vys_spirv_options(&any, s);
    o.host_layout = true;
    if (!vys_entry_find(copy, program, NULL, &what, d) || !vys_optimize(&w, copy, true, NULL, d))
        return NULL;
    return vys_entry_compile(what, &o, d);
}

// (words, manifest, C header) of what has that name.
static PyObject *compile(PyObject *self, PyObject *args)
{
    const vy_module *m = ((module_object *)self)->m;
    const char *program;
    PyObject *dictionary, *out = NULL;
    held_settings h;
    vy_diag d = {0};
    if (!PyArg_ParseTuple(args, "sO!", &program, &PyDict_Type, &dictionary) ||
        !take_settings(dictionary, &h))
        return NULL;
    vy_compiled *c = NULL;
    char *manifest = NULL, *header = NULL;
    Py_BEGIN_ALLOW_THREADS size_t size;
    void *data = vy_binary_write(m, &size);
    vy_module *copy = data ? vy_binary_read(data, size) : NULL; // the optimiser works in place
    free(data);
    if (copy && vy_module_ok(copy)) c = compiled(copy, &h.s, program, &d);
    if (c) manifest = vy_manifest(c->plans, NULL);
    if (c) header = vy_c_header(c->plans, program, NULL);
    vy_module_free(copy);
    Py_END_ALLOW_THREADS if (manifest && header) out =
        Py_BuildValue("y#ss", (const char *)c->words, (Py_ssize_t)(c->word_count * 4), manifest,
                      header);
    else if (d.severity == VY_ERROR) raise_diag(m, &d);
    else PyErr_NoMemory();
    free(manifest);
    free(header);
    vy_compiled_free(c);
    free_settings(&h);
    return out;
}

static PyMethodDef methods[] = {
    {"load", load, METH_VARARGS | METH_STATIC,
     "load(path, data or None, defines, specs, samplers, includes, entry): a file, or what is in "
     "memory"},
    {"derive", derive, METH_O, "derive(settings): its derivative, a module"},
    {"explain", explain_module, METH_O,
     "explain(settings): how each gradient is summed, what is kept"},
    {"text", text, METH_NOARGS, "the text of the language"},
    {"names", names, METH_NOARGS, "its programs, then its pipelines"},
    {"entry", entry, METH_VARARGS, "entry(name or None): the name of what runs"},
    {"compile", compile, METH_VARARGS, "compile(name, settings): (SPIR-V, manifest, C header)"},
    {0},
};

PyTypeObject module_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "vyre._core.Module",
    .tp_doc = "Programs and pipelines.",
    .tp_basicsize = sizeof(module_object),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_dealloc = dealloc,
    .tp_methods = methods,
};

// SPDX-License-Identifier: MIT
// core.c: the module `vyre._core`: its types, and errors as exceptions.
#include "python/src/core.h"

#include <string.h>

PyObject *error_type;

// ------------------------------------------------------------------------------------------ errors
static bool set(PyObject *error, const char *name, PyObject *value)
{
    const bool ok = value && PyObject_SetAttrString(error, name, value) == 0;
    Py_XDECREF(value);
    return ok;
}

static bool describe(PyObject *error, const vy_module *m, const vy_diag *d)
{
    const vy_file_place place = m ? vy_module_place(m, d->line) : (vy_file_place){0};
    return set(error, "code", PyUnicode_FromString(d->code ? d->code : "")) &&
           set(error, "text",
               PyUnicode_DecodeUTF8(d->text, (Py_ssize_t)strlen(d->text), "replace")) &&
           set(error, "fix", PyUnicode_DecodeUTF8(d->fix, (Py_ssize_t)strlen(d->fix), "replace")) &&
           set(error, "file", PyUnicode_FromString(place.file && d->line ? place.file : "")) &&
           set(error, "line", PyLong_FromUnsignedLong(place.line)) &&
           set(error, "column", PyLong_FromUnsignedLong(d->column));
}

PyObject *raise_diag(const vy_module *m, const vy_diag *d)
{
    static const char memory[] = "E0001";
    char message[1600];
    if (d->code && !strcmp(d->code, memory)) return PyErr_NoMemory();
    if (m)
        vy_module_diag_format(m, d, false, message, sizeof message);
    else
        vy_diag_format(d, NULL, NULL, 0, false, message, sizeof message);
    PyObject *text = PyUnicode_DecodeUTF8(message, (Py_ssize_t)strlen(message), "replace");
    PyObject *error = text ? PyObject_CallFunctionObjArgs(error_type, text, NULL) : NULL;
    if (error && describe(error, m, d)) PyErr_SetObject(error_type, error);
    Py_XDECREF(error);
    Py_XDECREF(text);
    return NULL;
}

// ----------------------------------------------------------------------------------------- strings
bool take_strings(PyObject *given, strings *out)
{
    *out = (strings){0};
    if (!given || given == Py_None) return true;
    out->sequence = PySequence_Fast(given, "a list of names is wanted");
    if (!out->sequence) return false;
    const Py_ssize_t n = PySequence_Fast_GET_SIZE(out->sequence);
    out->data = PyMem_Calloc((size_t)n + 1, sizeof *out->data);
    if (!out->data) PyErr_NoMemory();
    for (Py_ssize_t i = 0; out->data && i < n; i++) {
        out->data[i] = PyUnicode_AsUTF8(PySequence_Fast_GET_ITEM(out->sequence, i));
        if (!out->data[i]) break;
        out->count++;
    }
    if (out->data && out->count == n) return true;
    free_strings(out);
    return false;
}

void free_strings(strings *s)
{
    PyMem_Free(s->data);
    Py_XDECREF(s->sequence);
    *s = (strings){0};
}

bool type_of(const char *name, vy_type *out)
{
    if (vy_type_from_name(name, strlen(name), out)) return true;
    PyErr_Format(PyExc_ValueError, "no such type: %s", name);
    return false;
}

// ---------------------------------------------------------------------------------------- settings
static PyObject *item(PyObject *dictionary, const char *name)
{
    PyObject *o = PyDict_GetItemString(dictionary, name);
    return o == Py_None ? NULL : o;
}

static bool flag(PyObject *dictionary, const char *name)
{
    PyObject *o = item(dictionary, name);
    return o && PyObject_IsTrue(o) == 1;
}

static uint64_t number(PyObject *dictionary, const char *name)
{
    PyObject *o = item(dictionary, name);
    return o ? PyLong_AsUnsignedLongLong(o) : 0;
}

static uint32_t count(PyObject *dictionary, const char *name)
{
    const uint64_t n = number(dictionary, name);
    if (n > UINT32_MAX && !PyErr_Occurred())
        PyErr_Format(PyExc_OverflowError, "%s= must be below 2**32", name);
    return (uint32_t)n;
}

// The place of a word in a list that NULL ends; an error names them all.
static uint32_t choice(PyObject *dictionary, const char *name, const char *const *words)
{
    PyObject *o = item(dictionary, name);
    const char *given = o ? PyUnicode_AsUTF8(o) : words[0];
    if (!given) return 0;
    for (uint32_t i = 0; words[i]; i++)
        if (!strcmp(words[i], given)) return i;
    PyErr_Format(PyExc_ValueError, "%s=\"%s\": it is one of %s", name, given, words[0]);
    return 0;
}

static void take_numbers(PyObject *from, vys_settings *s)
{
    static const char *const sums[] = {"auto", "atomic", "gather", NULL};
    static const char *const keeps[] = {"auto", "all", "sqrt", NULL};
    s->order = count(from, "order");
    s->forward = flag(from, "forward");
    s->seed_buffer = flag(from, "seed");
    s->with_value = flag(from, "with_value");
    s->deterministic = flag(from, "deterministic");
    s->accumulate = (vy_accumulate)choice(from, "accumulate", sums);
    s->keep = (vys_keep)choice(from, "keep", keeps);
    s->tape_limit = number(from, "tape_limit");
    s->batches = count(from, "batches");
    s->precise = flag(from, "precise");
    s->fast_math = flag(from, "fast_math");
    s->keep_state = flag(from, "keep_state");
    s->timeout_ns = number(from, "timeout_ns");
    s->subgroup_size = count(from, "subgroup_size");
}

bool take_settings(PyObject *dictionary, held_settings *out)
{
    *out = (held_settings){0};
    PyObject *program = item(dictionary, "program"), *name = item(dictionary, "name");
    if (!take_strings(item(dictionary, "of"), &out->of) ||
        !take_strings(item(dictionary, "wrt"), &out->wrt) ||
        !take_strings(item(dictionary, "assume"), &out->assume)) {
        free_settings(out);
        return false;
    }
    out->kept = dictionary;
    Py_INCREF(dictionary);
    out->s = (vys_settings){.of = out->of.data,
                            .of_count = out->of.count,
                            .wrt = out->wrt.data,
                            .wrt_count = out->wrt.count,
                            .assume = out->assume.data,
                            .assume_count = out->assume.count,
                            .program = program ? PyUnicode_AsUTF8(program) : NULL,
                            .name = name ? PyUnicode_AsUTF8(name) : NULL};
    take_numbers(dictionary, &out->s);
    if (!PyErr_Occurred()) return true;
    free_settings(out);
    return false;
}

void free_settings(held_settings *h)
{
    free_strings(&h->of);
    free_strings(&h->wrt);
    free_strings(&h->assume);
    Py_XDECREF(h->kept);
    *h = (held_settings){0};
}

// ------------------------------------------------------------------------------------------ module
static PyObject *learning_rate(PyObject *self, PyObject *name)
{
    (void)self;
    const char *optimiser = PyUnicode_AsUTF8(name);
    return optimiser ? PyFloat_FromDouble(vy_train_rate(optimiser)) : NULL;
}

static PyObject *version(PyObject *self, PyObject *none)
{
    (void)self, (void)none;
    return PyUnicode_FromString(vy_version());
}

static PyMethodDef functions[] = {
    {"version", version, METH_NOARGS, "the library's"},
    {"learning_rate", learning_rate, METH_O, "the one that suits an optimiser of the library"},
    {0},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "vyre._core",
    .m_doc = "The library's objects; use the package vyre.",
    .m_size = -1,
    .m_methods = functions,
};

static bool add(PyObject *m, const char *name, PyObject *o)
{
    Py_INCREF(o);
    if (PyModule_AddObject(m, name, o) == 0) return true;
    Py_DECREF(o);
    return false;
}

PyMODINIT_FUNC PyInit__core(void);
PyMODINIT_FUNC PyInit__core(void)
{
    if (PyType_Ready(&array_type) < 0 || PyType_Ready(&module_type) < 0 ||
        PyType_Ready(&session_type) < 0 || PyType_Ready(&task_type) < 0)
        return NULL;
    error_type = PyErr_NewExceptionWithDoc(
        "vyre.Error",
        "What the compiler or a device says: `code` (docs/diagnostics.md), `text`, `fix`, and in\n"
        "which `file`, `line` and `column`; its str has the source line, too.",
        PyExc_RuntimeError, NULL);
    PyObject *m = error_type ? PyModule_Create(&definition) : NULL;
    if (m && add(m, "Error", error_type) && add(m, "Array", (PyObject *)&array_type) &&
        add(m, "Module", (PyObject *)&module_type) &&
        add(m, "Session", (PyObject *)&session_type) && add(m, "Task", (PyObject *)&task_type))
        return m;
    Py_XDECREF(m);
    return NULL;
}

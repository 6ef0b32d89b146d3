// SPDX-License-Identifier: MIT
// comm.c: session/comm.h by a function of Python that sums an array over all ranks, in place.
//
// A run holds no lock of the interpreter: the function is called with it.  What it raises becomes
// the text of the error that the run returns.
#include "python/src/core.h"

#include <stdio.h>

struct held_comm {
    vys_comm c;
    PyObject *sum; // (memoryview of floats, type) → None
    char why[300];
};

// Takes over the exception that is set.
static const char *raised(held_comm *h)
{
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyObject *text = value ? PyObject_Str(value) : NULL;
    const char *utf8 = text ? PyUnicode_AsUTF8(text) : NULL;
    snprintf(h->why, sizeof h->why, "comm: %.280s", utf8 ? utf8 : "an exception");
    PyErr_Clear();
    Py_XDECREF(text);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    return h->why;
}

static const char *begin_sum(void *user, void *data, uint64_t count, vy_type type)
{
    held_comm *h = user;
    const Py_ssize_t bytes = (Py_ssize_t)(count * vy_type_size(type));
    const PyGILState_STATE state = PyGILState_Ensure();
    PyObject *view = PyMemoryView_FromMemory(data, bytes, PyBUF_WRITE);
    PyObject *done = view ? PyObject_CallFunction(h->sum, "Os", view, vy_type_name(type)) : NULL;
    const char *why = done ? NULL : raised(h);
    Py_XDECREF(done);
    Py_XDECREF(view);
    PyGILState_Release(state);
    return why;
}

// Sums are complete when they begin.
static const char *finish(void *user, uint64_t timeout_ns)
{
    (void)user, (void)timeout_ns;
    return NULL;
}

held_comm *hold_comm(uint32_t rank, uint32_t ranks, PyObject *sum)
{
    held_comm *h = PyMem_Calloc(1, sizeof *h);
    if (!h) return PyErr_NoMemory(), NULL;
    h->sum = sum;
    Py_INCREF(sum);
    h->c = (vys_comm){.size = sizeof h->c,
                      .rank = rank,
                      .ranks = ranks,
                      .user = h,
                      .begin_sum = begin_sum,
                      .finish = finish};
    return h;
}

const vys_comm *comm_of(const held_comm *h) { return h ? &h->c : NULL; }

void free_comm(held_comm *h)
{
    if (!h) return;
    Py_DECREF(h->sum);
    PyMem_Free(h);
}

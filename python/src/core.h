// SPDX-License-Identifier: MIT
// core.h: what the files of the extension module share.
//
// The extension has no logic of its own: each type wraps an object of the library, each method a
// call of session.h.  Names, defaults and conversions of arrays are Python's business (vyre/).
#ifndef VYRE_PYTHON_CORE_H
#define VYRE_PYTHON_CORE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "session/fit.h"
#include "session/session.h"

typedef struct module_object {
    PyObject_HEAD vy_module *m;
} module_object;

// An engine.  `lock` is held during each call that uses it: threads may share it.
typedef struct session_object {
    PyObject_HEAD vys_session *s;
    PyThread_type_lock lock;
} session_object;

extern PyTypeObject array_type, module_type, session_type, task_type;
extern PyObject *error_type; // vyre.Error

// Raises what *d says and returns NULL; `m`: what it is about, or NULL.
PyObject *raise_diag(const vy_module *m, const vy_diag *d);
PyObject *wrap_module(vy_module *m); // takes it over
// Also NULL, with an exception, where it is no module.
const vy_module *module_of(PyObject *o);

// Strings of a sequence, for the library; they live as long as the object.
typedef struct strings {
    PyObject *sequence; // a reference
    const char **data;
    uint32_t count;
} strings;
bool take_strings(PyObject *given, strings *out); // None: none.  False: an exception is set
void free_strings(strings *s);

bool type_of(const char *name, vy_type *out); // False: an exception is set

// Of arrays (array.c).  The caller is not inside of the session's lock.
PyObject *bind_array(vys_task *t, const char *name, PyObject *array);
bool is_on(PyObject *array, const session_object *s);

// Settings of a derivative and of its code from keyword arguments; the strings live in `held`.
typedef struct held_settings {
    vys_settings s;
    strings of, wrt, assume;
    PyObject *kept; // a reference to the dictionary
} held_settings;
bool take_settings(PyObject *dictionary, held_settings *out); // False: an exception is set
void free_settings(held_settings *h);

// Module's method: settings → dictionary (explain.c).
PyObject *explain_module(PyObject *self, PyObject *dictionary);

// A communicator made of a function of Python's (comm.c).
typedef struct held_comm held_comm;
held_comm *hold_comm(uint32_t rank, uint32_t ranks, PyObject *sum); // NULL: an exception is set
const vys_comm *comm_of(const held_comm *h);                        // of NULL: NULL
void free_comm(held_comm *h);                                       // NULL is fine

// Wraps a task, which it takes over, as it does the communicator that the task uses, or NULL.
PyObject *wrap_task(session_object *s, vys_task *t, held_comm *comm);

#endif

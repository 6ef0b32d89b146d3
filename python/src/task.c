// SPDX-License-Identifier: MIT
// task.c: what runs, with its data.
//
// A task is used by one thread at a time, and so is its session: each call that runs or changes one
// holds the session's lock, without the interpreter's.
#include "python/src/core.h"

#include "session/check.h"

#include <string.h>

typedef struct task_object {
    PyObject_HEAD vys_task *t;
    session_object *session; // a reference
    held_comm *comm;         // NULL: of one process
} task_object;

PyObject *wrap_task(session_object *s, vys_task *t, held_comm *comm)
{
    task_object *o = PyObject_New(task_object, &task_type);
    if (!o) {
        vys_task_free(t);
        free_comm(comm);
        return NULL;
    }
    o->t = t;
    o->comm = comm;
    o->session = s;
    Py_INCREF(s);
    return (PyObject *)o;
}

// Whoever holds the session's lock may wait for the interpreter's, so nobody waits for the former
// with the latter.
static void enter(task_object *o)
{
    Py_BEGIN_ALLOW_THREADS PyThread_acquire_lock(o->session->lock, WAIT_LOCK);
    Py_END_ALLOW_THREADS
}

static PyObject *leave(task_object *o, bool ok, const vy_diag *d)
{
    PyThread_release_lock(o->session->lock);
    if (!ok) return raise_diag(NULL, d);
    Py_RETURN_NONE;
}

static void dealloc(PyObject *self)
{
    task_object *o = (task_object *)self;
    enter(o);
    vys_task_free(o->t);
    PyThread_release_lock(o->session->lock);
    free_comm(o->comm);
    Py_DECREF(o->session);
    PyObject_Free(self);
}

// -------------------------------------------------------------------------------------------- data
// The lengths of a tuple; -1: an exception is set.
static int take_shape(PyObject *tuple, uint64_t *shape, uint64_t *count)
{
    const Py_ssize_t rank = PyTuple_GET_SIZE(tuple);
    *count = 1;
    if (rank > VYS_MAX_RANK) return (int)rank; // the library says what is wrong with it
    for (Py_ssize_t i = 0; i < rank; i++) {
        shape[i] = PyLong_AsUnsignedLongLong(PyTuple_GET_ITEM(tuple, i));
        if (PyErr_Occurred()) return -1;
        if (__builtin_mul_overflow(*count, shape[i], count)) *count = UINT64_MAX;
    }
    return (int)rank;
}

// (name, type, shape, contiguous elements, or None: zeros)
static PyObject *set(PyObject *self, PyObject *args)
{
    task_object *o = (task_object *)self;
    const char *name, *type_name;
    PyObject *tuple;
    Py_buffer data = {0};
    vy_type type;
    uint64_t shape[VYS_MAX_RANK] = {0}, count;
    vy_diag d = {0};
    if (!PyArg_ParseTuple(args, "ssO!z*", &name, &type_name, &PyTuple_Type, &tuple, &data))
        return NULL;
    const int rank = type_of(type_name, &type) ? take_shape(tuple, shape, &count) : -1;
    PyObject *out = NULL;
    if (rank >= 0 && data.obj && (uint64_t)data.len != count * vy_type_size(type)) {
        PyErr_Format(PyExc_ValueError, "%s: %zd bytes are no array of that shape", name, data.len);
    } else if (rank >= 0) {
        // An array without elements has data, too.
        const void *from = !data.obj ? NULL : data.buf ? data.buf : "";
        enter(o);
        const bool ok = vys_set(o->t, name, type, (uint32_t)rank, shape, from, &d);
        out = leave(o, ok, &d);
    }
    PyBuffer_Release(&data);
    return out;
}

// (name, array of the session's device)
static PyObject *bind(PyObject *self, PyObject *args)
{
    task_object *o = (task_object *)self;
    const char *name;
    PyObject *array;
    if (!PyArg_ParseTuple(args, "sO!", &name, &array_type, &array)) return NULL;
    if (is_on(array, o->session)) return bind_array(o->t, name, array);
    PyErr_Format(PyExc_TypeError, "%s is on another device: copy it there, dev.array(a.numpy())",
                 name);
    return NULL;
}

static PyObject *unbind(PyObject *self, PyObject *args)
{
    task_object *o = (task_object *)self;
    const char *name;
    vy_diag d = {0};
    if (!PyArg_ParseTuple(args, "s", &name)) return NULL;
    enter(o);
    const bool ok = vys_bind(o->t, name, VY_F32, 0, NULL, NULL, 0, &d);
    return leave(o, ok, &d);
}

static PyObject *set_int(PyObject *self, PyObject *args)
{
    const char *name;
    long long value;
    vy_diag d = {0};
    if (!PyArg_ParseTuple(args, "sL", &name, &value)) return NULL;
    enter((task_object *)self);
    const bool ok = vys_set_int(((task_object *)self)->t, name, value, &d);
    return leave((task_object *)self, ok, &d);
}

static PyObject *set_float(PyObject *self, PyObject *args)
{
    const char *name;
    double value;
    vy_diag d = {0};
    if (!PyArg_ParseTuple(args, "sd", &name, &value)) return NULL;
    enter((task_object *)self);
    const bool ok = vys_set_float(((task_object *)self)->t, name, value, &d);
    return leave((task_object *)self, ok, &d);
}

static PyObject *set_groups(PyObject *self, PyObject *args)
{
    uint32_t groups[3];
    vy_diag d = {0};
    if (!PyArg_ParseTuple(args, "III", &groups[0], &groups[1], &groups[2])) return NULL;
    enter((task_object *)self);
    const bool ok = vys_set_groups(((task_object *)self)->t, groups, &d);
    return leave((task_object *)self, ok, &d);
}

// --------------------------------------------------------------------------------------------- run
static PyObject *execute(task_object *o, bool (*how)(vys_task *, vy_diag *))
{
    vy_diag d = {0};
    bool ok;
    Py_BEGIN_ALLOW_THREADS PyThread_acquire_lock(o->session->lock, WAIT_LOCK);
    ok = how(o->t, &d);
    PyThread_release_lock(o->session->lock);
    Py_END_ALLOW_THREADS if (!ok) return raise_diag(NULL, &d);
    Py_RETURN_NONE;
}

static PyObject *run(PyObject *self, PyObject *none)
{
    (void)none;
    return execute((task_object *)self, vys_run);
}

static PyObject *prepare(PyObject *self, PyObject *none)
{
    (void)none;
    return execute((task_object *)self, vys_prepare);
}

// (name, type, a writable contiguous buffer of its size)
static PyObject *read_into(PyObject *self, PyObject *args)
{
    task_object *o = (task_object *)self;
    const char *name, *type_name;
    Py_buffer data;
    vy_type type;
    vy_diag d = {0};
    bool ok = true;
    if (!PyArg_ParseTuple(args, "ssw*", &name, &type_name, &data)) return NULL;
    if (!type_of(type_name, &type)) {
        PyBuffer_Release(&data);
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS PyThread_acquire_lock(o->session->lock, WAIT_LOCK);
    ok = vys_read(o->t, name, type, data.buf, (uint64_t)data.len, &d);
    PyThread_release_lock(o->session->lock);
    Py_END_ALLOW_THREADS PyBuffer_Release(&data);
    if (!ok) return raise_diag(NULL, &d);
    Py_RETURN_NONE;
}

// -------------------------------------------------------------------------------------- reflection
static PyObject *shape_of(const vys_parameter *p)
{
    if (!p->shape) Py_RETURN_NONE;
    PyObject *out = PyTuple_New(p->rank);
    for (uint32_t i = 0; out && i < p->rank; i++) {
        PyObject *n = PyLong_FromUnsignedLongLong(p->shape[i]);
        if (!n) Py_CLEAR(out);
        if (out) PyTuple_SET_ITEM(out, i, n);
    }
    return out;
}

// [(name, role, of, class, type, rank, shape or None)]
static PyObject *parameters(PyObject *self, PyObject *none)
{
    (void)none;
    static const char *const roles[] = {"scalar", "buffer", "cotangent", "gradient", "tangent"};
    static const char *const classes[] = {"in", "out", "inout"};
    task_object *o = (task_object *)self;
    PyObject *out = PyList_New(0);
    vys_parameter p;
    enter(o);
    for (uint32_t i = 0; out && vys_task_parameter(o->t, i, &p); i++) {
        PyObject *row = Py_BuildValue("(sszssIN)", p.name, roles[p.role], p.of,
                                      p.role == VYS_ROLE_SCALAR ? "in" : classes[p.cls],
                                      vy_type_name(p.type), p.rank, shape_of(&p));
        if (!row || PyList_Append(out, row) < 0) Py_CLEAR(out);
        Py_XDECREF(row);
    }
    PyThread_release_lock(o->session->lock);
    return out;
}

// (losses, step, count) of a training.
static PyObject *fit_names(PyObject *self, PyObject *none)
{
    (void)none;
    const vys_fit_names n = vys_fit_names_of(((task_object *)self)->t);
    return Py_BuildValue("(zzz)", n.losses, n.step, n.count);
}

static PyObject *stats(PyObject *self, PyObject *none)
{
    (void)none;
    task_object *o = (task_object *)self;
    enter(o);
    const vys_stats s = vys_task_stats(o->t);
    PyThread_release_lock(o->session->lock);
    return Py_BuildValue("{sK sK sI sd sK}", "runs", (unsigned long long)s.runs, "compilations",
                         (unsigned long long)s.compilations, "storage", s.storage, "milliseconds",
                         s.milliseconds, "workspace_bytes", (unsigned long long)s.workspace_bytes);
}

// A row in words and numbers: (test, buffer, verdict, compared, failed, got, expected,
// error, note)
static PyObject *row_of(const vy_check_row *r)
{
    static const char *const verdicts[] = {"passed", "failed", "skipped"};
    return Py_BuildValue("(szsKKddds)", vy_check_test_name(r->test), r->buffer,
                         verdicts[r->verdict], (unsigned long long)r->compared,
                         (unsigned long long)r->failed, r->got, r->expected, r->error, r->note);
}

static PyObject *rows_of(const vy_check_result *r)
{
    PyObject *rows = PyList_New(0);
    for (uint32_t i = 0; rows && i < r->count; i++) {
        PyObject *row = row_of(&r->rows[i]);
        if (!row || PyList_Append(rows, row) < 0) Py_CLEAR(rows);
        Py_XDECREF(row);
    }
    return rows ? Py_BuildValue("(NzN)", PyBool_FromLong(r->passed), r->unverified, rows) : NULL;
}

// (tolerance or 0, samples or 0, whether accesses out of range are meant) → (passed, unverified
// gradient or None, rows)
static PyObject *check(PyObject *self, PyObject *args)
{
    task_object *o = (task_object *)self;
    vys_check_options options = {0};
    unsigned long long samples;
    int allowed;
    vy_check_result *r = NULL;
    vy_diag d = {0};
    if (!PyArg_ParseTuple(args, "dKp", &options.tolerance, &samples, &allowed)) return NULL;
    options.samples = samples;
    options.allow_out_of_range = allowed;
    Py_BEGIN_ALLOW_THREADS PyThread_acquire_lock(o->session->lock, WAIT_LOCK);
    vys_check(o->t, &options, &r, &d);
    Py_END_ALLOW_THREADS PyObject *out = r && r->program.severity != VY_ERROR ? rows_of(r) : NULL;
    if (r && r->program.severity == VY_ERROR) d = r->program;
    vy_check_free(r);
    PyThread_release_lock(o->session->lock);
    return out || PyErr_Occurred() ? out : raise_diag(NULL, &d);
}

static PyMethodDef methods[] = {
    {"set", set, METH_VARARGS, "set(name, type, shape, buffer or None)"},
    {"bind", bind, METH_VARARGS, "bind(name, array): reads and writes it on the device"},
    {"unbind", unbind, METH_VARARGS, "unbind(name): it has the task's own memory, and is not set"},
    {"set_int", set_int, METH_VARARGS, "set_int(name, value)"},
    {"set_float", set_float, METH_VARARGS, "set_float(name, value)"},
    {"set_groups", set_groups, METH_VARARGS, "set_groups(x, y, z)"},
    {"run", run, METH_NOARGS, "runs with the current data"},
    {"prepare", prepare, METH_NOARGS, "all of a run but the run: shapes are known then"},
    {"read_into", read_into, METH_VARARGS, "read_into(name, type, buffer): a result"},
    {"parameters", parameters, METH_NOARGS, "[(name, role, of, class, type, rank, shape or None)]"},
    {"check", check, METH_VARARGS,
     "check(tolerance, samples, out_of_range): (passed, unverified, rows)"},
    {"fit_names", fit_names, METH_NOARGS, "(losses, step, count): what a training calls its own"},
    {"stats", stats, METH_NOARGS, "what session.h's vys_stats has"},
    {0},
};

PyTypeObject task_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "vyre._core.Task",
    .tp_doc = "A program, a derivative or a training with its data.",
    .tp_basicsize = sizeof(task_object),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_dealloc = dealloc,
    .tp_methods = methods,
};

// SPDX-License-Identifier: MIT
// session.c: engines, and what is made on them: tasks, trainings.
#include "python/src/core.h"

static PyObject *create(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    (void)keywords;
    vys_session_desc desc = {0};
    int interpreter;
    vy_diag d = {0};
    bool ok;
    if (!PyArg_ParseTuple(args, "zp", &desc.device, &interpreter)) return NULL;
    session_object *o = (session_object *)type->tp_alloc(type, 0);
    if (!o) return NULL;
    desc.interpreter = interpreter;
    o->lock = PyThread_allocate_lock();
    if (!o->lock) {
        Py_DECREF(o);
        return PyErr_NoMemory();
    }
    Py_BEGIN_ALLOW_THREADS ok = vys_open(&desc, &o->s, &d);
    Py_END_ALLOW_THREADS if (ok) return (PyObject *)o;
    Py_DECREF(o);
    return raise_diag(NULL, &d);
}

static void dealloc(PyObject *self)
{
    session_object *o = (session_object *)self;
    vys_close(o->s);
    if (o->lock) PyThread_free_lock(o->lock);
    Py_TYPE(self)->tp_free(self);
}

static PyObject *name(PyObject *self, PyObject *none)
{
    (void)none;
    const vkrt_device *device = vys_session_device(((session_object *)self)->s);
    return PyUnicode_FromString(device ? vkrt_device_get_info(device)->name : "interpreter");
}

static PyObject *is_cpu(PyObject *self, PyObject *none)
{
    (void)none;
    const session_object *o = (session_object *)self;
    return PyBool_FromLong(!vys_session_device(o->s) || vys_session_facts(o->s).cpu);
}

static PyObject *task(PyObject *self, PyObject *args)
{
    session_object *o = (session_object *)self;
    PyObject *dictionary, *module;
    held_settings h;
    vys_task *t = NULL;
    vy_diag d = {0};
    if (!PyArg_ParseTuple(args, "OO!", &module, &PyDict_Type, &dictionary)) return NULL;
    const vy_module *m = module_of(module);
    if (!m || !take_settings(dictionary, &h)) return NULL;
    Py_BEGIN_ALLOW_THREADS PyThread_acquire_lock(o->lock, WAIT_LOCK);
    vys_task_build(o->s, m, &h.s, &t, &d);
    PyThread_release_lock(o->lock);
    Py_END_ALLOW_THREADS free_settings(&h);
    return t ? wrap_task(o, t, NULL) : raise_diag(m, &d);
}

// (rank, ranks, names, sums, function), or None.  False: an exception is set.
static bool take_comm(PyObject *given, vys_fit *f, strings *shard, held_comm **out)
{
    unsigned int rank, ranks;
    int sums;
    PyObject *names, *sum;
    *out = NULL;
    if (given == Py_None) return true;
    if (!PyArg_ParseTuple(given, "IIOpO", &rank, &ranks, &names, &sums, &sum) ||
        !take_strings(names, shard) || !(*out = hold_comm(rank, ranks, sum)))
        return false;
    f->comm = comm_of(*out);
    f->shard = shard->data;
    f->shard_count = shard->count;
    f->sums = sums;
    return true;
}

// (module, settings, (loss, params, optimizer, lr, steps, batch names, rows, seed, tolerance,
// schedule, last, factor, period), communicator or None)
static PyObject *fit(PyObject *self, PyObject *args)
{
    session_object *o = (session_object *)self;
    PyObject *dictionary, *module, *params, *batch, *comm;
    held_comm *held = NULL;
    held_settings h = {0};
    strings p = {0}, b = {0}, shard = {0};
    vys_fit f = {0};
    int schedule;
    vys_task *t = NULL;
    vy_diag d = {0};
    if (!PyArg_ParseTuple(args, "OO!(sOzdIOIIdiddI)O", &module, &PyDict_Type, &dictionary,
                          &f.train.loss, &params, &f.train.optimiser, &f.train.lr, &f.steps, &batch,
                          &f.batch, &f.train.seed, &f.train.tolerance, &schedule, &f.train.last,
                          &f.train.factor, &f.train.period, &comm))
        return NULL;
    const vy_module *m = module_of(module);
    bool ok = m && take_settings(dictionary, &h) && take_strings(params, &p) &&
              take_strings(batch, &b) && take_comm(comm, &f, &shard, &held);
    if (ok) {
        f.train.params = p.data;
        f.train.param_count = p.count;
        f.train.batch = b.data;
        f.train.batch_count = b.count;
        f.train.schedule = (vy_schedule)schedule;
        Py_BEGIN_ALLOW_THREADS PyThread_acquire_lock(o->lock, WAIT_LOCK);
        vys_fit_build(o->s, m, &f, &h.s, &t, &d);
        PyThread_release_lock(o->lock);
        Py_END_ALLOW_THREADS
    }
    free_strings(&p);
    free_strings(&b);
    free_strings(&shard);
    free_settings(&h);
    if (t) return wrap_task(o, t, held);
    free_comm(held);
    return ok ? raise_diag(m, &d) : NULL;
}

static PyMethodDef methods[] = {
    {"name", name, METH_NOARGS, "the device's name"},
    {"is_cpu", is_cpu, METH_NOARGS, "whether it computes on the CPU"},
    {"task", task, METH_VARARGS, "task(module, settings): a program or derivative with its data"},
    {"fit", fit, METH_VARARGS, "fit(module, settings, training): a training with its data"},
    {0},
};

PyTypeObject session_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "vyre._core.Session",
    .tp_doc = "Session(device or None, interpreter): an engine that runs programs.",
    .tp_basicsize = sizeof(session_object),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = create,
    .tp_dealloc = dealloc,
    .tp_methods = methods,
};

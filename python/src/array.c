// SPDX-License-Identifier: MIT
// array.c: values in a device's memory, which tasks bind (vys_bind) and the host may see.
//
// Where the memory is mapped (devices on the CPU, and the interpreter's arrays, which are ordinary
// memory) the object offers it through the buffer protocol: no copy.  A released array refuses all
// use; memory of which somebody has a view is given back when the last view is.
#include "python/src/core.h"

#include "session/runner.h"

#include <string.h>

typedef struct array_object {
    PyObject_HEAD session_object *session; // a reference
    vkrt_storage *storage;                 // NULL: `memory`, of the interpreter
    void *memory;
    vy_type type;
    int rank;
    Py_ssize_t shape[VYS_MAX_RANK], strides[VYS_MAX_RANK], bytes;
    Py_ssize_t views; // buffers given out
    bool released;
} array_object;

static void lock(array_object *o)
{
    Py_BEGIN_ALLOW_THREADS PyThread_acquire_lock(o->session->lock, WAIT_LOCK);
    Py_END_ALLOW_THREADS
}

static void unlock(array_object *o) { PyThread_release_lock(o->session->lock); }

static void free_memory(array_object *o)
{
    if (!o->session) return;
    lock(o);
    vkrt_storage_destroy(o->storage);
    unlock(o);
    PyMem_RawFree(o->memory);
    o->storage = NULL;
    o->memory = NULL;
}

static bool is_alive(const array_object *o)
{
    if (o->released)
        PyErr_SetString(PyExc_ValueError, "the array was released: make another by Device.array");
    return !o->released;
}

static PyObject *raise_vkrt(const vkrt_error *e)
{
    vy_diag d = {0};
    vys_vkrt_fail(e, NULL, &d);
    return raise_diag(NULL, &d);
}

// Where the host sees the elements; NULL: it does not.
static void *address(const array_object *o)
{
    return o->storage ? vkrt_storage_mapped(o->storage) : o->memory;
}

// -------------------------------------------------------------------------------------------- life
static bool take_lengths(array_object *o, PyObject *tuple)
{
    const Py_ssize_t rank = PyTuple_GET_SIZE(tuple);
    if (rank > VYS_MAX_RANK) {
        PyErr_Format(PyExc_ValueError, "%zd axes are more than any buffer has", rank);
        return false;
    }
    o->rank = (int)rank;
    o->bytes = vy_type_size(o->type);
    for (Py_ssize_t i = rank; i-- > 0;) {
        o->shape[i] = PyLong_AsSsize_t(PyTuple_GET_ITEM(tuple, i));
        if (PyErr_Occurred()) return false;
        o->strides[i] = o->bytes;
        if (o->shape[i] >= 0 && !__builtin_mul_overflow(o->bytes, o->shape[i], &o->bytes)) continue;
        PyErr_SetString(PyExc_ValueError, "no array has these lengths");
        return false;
    }
    return true;
}

static bool allocate(array_object *o, bool visible)
{
    vkrt_device *device = vys_session_device(o->session->s);
    const uint64_t bytes = o->bytes > 0 ? ((uint64_t)o->bytes + 3) / 4 * 4 : 4;
    const vkrt_storage_desc desc = {.size = sizeof desc, .bytes = bytes, .host_visible = visible};
    vkrt_error e = {0};
    bool ok;
    if (!device) {
        o->memory = PyMem_RawCalloc(1, bytes);
        return o->memory || PyErr_NoMemory();
    }
    lock(o);
    ok = !vkrt_storage_create(device, &desc, &o->storage, &e);
    unlock(o);
    return ok || raise_vkrt(&e);
}

// (session, type, shape, whether the host is to see it)
static PyObject *create(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    (void)keywords;
    PyObject *session, *tuple;
    const char *name;
    int visible;
    vy_type element;
    if (!PyArg_ParseTuple(args, "O!sO!p", &session_type, &session, &name, &PyTuple_Type, &tuple,
                          &visible) ||
        !type_of(name, &element))
        return NULL;
    array_object *o = (array_object *)type->tp_alloc(type, 0);
    if (!o) return NULL;
    o->type = element;
    o->session = (session_object *)session;
    Py_INCREF(session);
    if (take_lengths(o, tuple) && allocate(o, visible)) return (PyObject *)o;
    Py_DECREF(o);
    return NULL;
}

static void dealloc(PyObject *self)
{
    array_object *o = (array_object *)self;
    free_memory(o);
    Py_XDECREF(o->session);
    Py_TYPE(self)->tp_free(self);
}

static PyObject *release(PyObject *self, PyObject *none)
{
    (void)none;
    array_object *o = (array_object *)self;
    o->released = true;
    if (!o->views) free_memory(o);
    Py_RETURN_NONE;
}

// ----------------------------------------------------------------------------------------- contents
static bool is_size(const array_object *o, const Py_buffer *data)
{
    if (data->len == o->bytes) return true;
    PyErr_Format(PyExc_ValueError, "%zd bytes are no contents of an array of %zd", data->len,
                 o->bytes);
    return false;
}

// Copies all elements; the interpreter's lock is free meanwhile.
static PyObject *copy(array_object *o, Py_buffer *data, bool in)
{
    vkrt_error e = {0};
    bool bad = false;
    if (!is_alive(o) || !is_size(o, data)) return NULL;
    Py_BEGIN_ALLOW_THREADS PyThread_acquire_lock(o->session->lock, WAIT_LOCK);
    if (o->storage)
        bad = in ? vkrt_storage_write(o->storage, 0, data->buf, (uint64_t)data->len, &e)
                 : vkrt_storage_read(o->storage, 0, data->buf, (uint64_t)data->len, &e);
    else if (o->memory)
        memcpy(in ? o->memory : data->buf, in ? data->buf : o->memory, (size_t)data->len);
    PyThread_release_lock(o->session->lock);
    Py_END_ALLOW_THREADS if (bad) return raise_vkrt(&e);
    Py_RETURN_NONE;
}

static PyObject *write_from(PyObject *self, PyObject *args)
{
    Py_buffer data;
    if (!PyArg_ParseTuple(args, "y*", &data)) return NULL;
    PyObject *out = copy((array_object *)self, &data, true);
    PyBuffer_Release(&data);
    return out;
}

static PyObject *read_into(PyObject *self, PyObject *args)
{
    Py_buffer data;
    if (!PyArg_ParseTuple(args, "w*", &data)) return NULL;
    PyObject *out = copy((array_object *)self, &data, false);
    PyBuffer_Release(&data);
    return out;
}

PyObject *bind_array(vys_task *t, const char *name, PyObject *array)
{
    array_object *o = (array_object *)array;
    uint64_t shape[VYS_MAX_RANK];
    vy_diag d = {0};
    bool ok;
    if (!is_alive(o)) return NULL;
    for (int i = 0; i < o->rank; i++) shape[i] = (uint64_t)o->shape[i];
    lock(o);
    ok = vys_bind(t, name, o->type, (uint32_t)o->rank, shape, o->storage, 0, &d);
    unlock(o);
    if (!ok) return raise_diag(NULL, &d);
    Py_RETURN_NONE;
}

bool is_on(PyObject *array, const session_object *s)
{
    return ((array_object *)array)->session == s;
}

// ------------------------------------------------------------------------------------------- views
// As the struct module writes them; a bool has 32 bits.
static const char *format_of(vy_type t)
{
    switch (t) {
    case VY_I8: return "b";
    case VY_U8: return "B";
    case VY_I16: return "h";
    case VY_U16: return "H";
    case VY_I32: return "i";
    case VY_I64: return "q";
    case VY_U64: return "Q";
    case VY_F16: return "e";
    case VY_F32: return "f";
    case VY_F64: return "d";
    default: return "I";
    }
}

static int get_buffer(PyObject *self, Py_buffer *view, int flags)
{
    array_object *o = (array_object *)self;
    view->obj = NULL;
    if (!is_alive(o)) return -1;
    if (!address(o)) {
        PyErr_SetString(PyExc_BufferError,
                        "the host does not see this device's memory: copy it by numpy()");
        return -1;
    }
    *view = (Py_buffer){.buf = address(o),
                        .obj = self,
                        .len = o->bytes,
                        .itemsize = vy_type_size(o->type),
                        .ndim = flags & PyBUF_ND ? o->rank : 1,
                        .format = flags & PyBUF_FORMAT ? (char *)format_of(o->type) : NULL,
                        .shape = flags & PyBUF_ND ? o->shape : NULL,
                        .strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? o->strides : NULL};
    Py_INCREF(self);
    o->views++;
    return 0;
}

static void release_buffer(PyObject *self, Py_buffer *view)
{
    (void)view;
    array_object *o = (array_object *)self;
    if (--o->views == 0 && o->released) free_memory(o);
}

static PyObject *get_shape(PyObject *self, void *none)
{
    (void)none;
    const array_object *o = (array_object *)self;
    PyObject *out = PyTuple_New(o->rank);
    for (int i = 0; out && i < o->rank; i++) {
        PyObject *n = PyLong_FromSsize_t(o->shape[i]);
        if (!n) Py_CLEAR(out);
        if (out) PyTuple_SET_ITEM(out, i, n);
    }
    return out;
}

static PyObject *get_type(PyObject *self, void *none)
{
    (void)none;
    return PyUnicode_FromString(vy_type_name(((array_object *)self)->type));
}

static PyObject *get_nbytes(PyObject *self, void *none)
{
    (void)none;
    return PyLong_FromSsize_t(((array_object *)self)->bytes);
}

static PyObject *get_mapped(PyObject *self, void *none)
{
    (void)none;
    return PyBool_FromLong(address((array_object *)self) != NULL);
}

static PyObject *get_released(PyObject *self, void *none)
{
    (void)none;
    return PyBool_FromLong(((array_object *)self)->released);
}

static PyMethodDef methods[] = {
    {"write", write_from, METH_VARARGS, "write(contiguous buffer of its size)"},
    {"read_into", read_into, METH_VARARGS, "read_into(writable contiguous buffer of its size)"},
    {"release", release, METH_NOARGS,
     "gives the memory back, once no view of it and no program has it; later use raises ValueError"},
    {0},
};

static PyGetSetDef members[] = {
    {"shape", get_shape, NULL, "the lengths of its axes", NULL},
    {"type", get_type, NULL, "the element type, as the language calls it", NULL},
    {"nbytes", get_nbytes, NULL, "the bytes of all elements", NULL},
    {"mapped", get_mapped, NULL, "whether the host sees its memory: np.asarray copies nothing",
     NULL},
    {"released", get_released, NULL, "whether `release` was called", NULL},
    {0},
};

static PyBufferProcs buffer = {.bf_getbuffer = get_buffer, .bf_releasebuffer = release_buffer};

PyTypeObject array_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "vyre._core.Array",
    .tp_doc = "Array(session, type, shape, visible): values in a device's memory.",
    .tp_basicsize = sizeof(array_object),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .tp_new = create,
    .tp_dealloc = dealloc,
    .tp_methods = methods,
    .tp_getset = members,
    .tp_as_buffer = &buffer,
};

// SPDX-License-Identifier: MIT
// memory.c: loads and stores by pointers (pointers.c).
//
// A load of a vector, matrix or struct is one of each of its scalars.
#include "spirv/read/reading.h"

// --------------------------------------------------------------------------------------- elements
typedef struct element { // a scalar in memory
    const read_object *o;
    uint32_t field, rank;
    read_index index[READ_MOST_AXES];
} element;

static void note_use(reading *r, const element *e, uint32_t k, uint8_t use)
{
    uint8_t *uses = r->uses[e->o->variable];
    r->noted |= (uses[k] & use) != use && !r->guessing;
    uses[k] |= use;
    if (!r->guessing) r->now[e->o->variable][k] |= use;
}

// The number of the scalar in its field, row-major; false: not known until it runs, or out of
// range.
static bool number_of(const element *e, uint32_t *out)
{
    const read_field *f = &e->o->fields[e->field];
    uint32_t n = 0;
    for (uint32_t k = 0; k < f->rank; k++) {
        if (!e->index[k].known || e->index[k].number >= f->dims[k]) return false;
        n = n * f->dims[k] + e->index[k].number;
    }
    *out = f->first + n;
    return true;
}

// Subgroups are runs of invocations of the workgroup, by their linear index.
static vy_value subgroup_number(reading *r, bool count)
{
    const uint32_t *w = vy_builder_program(r->b)->workgroup;
    const vy_value size = vy_builtin_value(r->b, VY_SUBGROUP_SIZE, 0);
    vy_value n = vy_builtin_value(r->b, VY_LINDEX, 0);
    if (count) n = vy_add(r->b, vy_int(r->b, VY_U32, w[0] * w[1] * w[2] - 1), size);
    return vy_div(r->b, n, size);
}

static vy_value builtin(reading *r, const element *e)
{
    const uint32_t axis = e->rank ? e->index[0].number : 0;
    static const struct {
        SpvBuiltIn of;
        vy_builtin is;
    } same[] = {{SpvBuiltInGlobalInvocationId, VY_GID},
                {SpvBuiltInLocalInvocationId, VY_LID},
                {SpvBuiltInWorkgroupId, VY_WID},
                {SpvBuiltInNumWorkgroups, VY_NUM_GROUPS},
                {SpvBuiltInLocalInvocationIndex, VY_LINDEX},
                {SpvBuiltInSubgroupLocalInvocationId, VY_LANE},
                {SpvBuiltInSubgroupSize, VY_SUBGROUP_SIZE}};
    for (uint32_t k = 0; k < sizeof same / sizeof *same; k++)
        if (same[k].of == e->o->builtin && axis < 3)
            return vy_builtin_value(r->b, same[k].is, axis);
    if (e->o->builtin == SpvBuiltInWorkgroupSize && axis < 3)
        return vy_int(r->b, VY_U32, vy_builder_program(r->b)->workgroup[axis]);
    if (e->o->builtin == SpvBuiltInSubgroupId || e->o->builtin == SpvBuiltInNumSubgroups)
        return subgroup_number(r, e->o->builtin == SpvBuiltInNumSubgroups);
    read_refuse(r, "use invocation, workgroup and subgroup ids", "this built-in variable");
    return (vy_value){0};
}

// The element of an array of the program: its index, or false where there is none yet.  Components
// of vectors have numbers of the type that they have in text (`v.y` is v[1]).
static bool array_index(reading *r, const element *e, vy_value *index)
{
    const read_field *f = &e->o->fields[e->field];
    index[0] = vy_int(r->b, VY_U32, 0);
    for (uint32_t k = 0; k < e->rank; k++) {
        const vy_type type = f->vector && k + 1 == f->rank ? VY_I32 : VY_U32;
        index[k] = e->index[k].known ? vy_int(r->b, type, e->index[k].number) : e->index[k].value;
    }
    return f->buffer.id != 0;
}

static bool is_always_array(const read_object *o)
{
    return o->kind == READ_BUFFER || o->kind == READ_SHARED || o->kind == READ_IMAGE;
}

// A use of a field; what else might be scalars is indexed where the element is not known.
static void note_field(reading *r, const element *e, uint8_t use)
{
    uint32_t n;
    const bool known = is_always_array(e->o) || number_of(e, &n);
    note_use(r, e, e->field, known ? use : use | READ_IS_INDEXED);
}

static vy_value load_array(reading *r, const element *e)
{
    const read_field *f = &e->o->fields[e->field];
    vy_value index[READ_MOST_AXES + 1];
    note_field(r, e, READ_IS_READ);
    if (!array_index(r, e, index)) return read_any(r, f->type);
    vy_value v = {0};
    if (e->o->alias) return read_alias_load(r, e->o->alias, f, e->index, &v) ? v : (vy_value){0};
    v = vy_load(r->b, f->buffer, index);
    return f->type == VY_BOOL ? vy_ne(r->b, v, vy_int(r->b, VY_U32, 0)) : v;
}

static bool is_array(const read_object *o, uint32_t field)
{
    return is_always_array(o) || o->fields[field].buffer.id != 0;
}

static void note_scalar(reading *r, const element *e, uint32_t n) // of a block of constants
{
    note_use(r, e, e->field, READ_IS_READ);
    if (n < READ_MOST_SCALARS) note_use(r, e, e->o->field_count + n, READ_IS_READ);
}

static vy_value load_element(reading *r, const element *e)
{
    const read_field *f = &e->o->fields[e->field];
    uint32_t n;
    if (e->o->kind == READ_BUILTIN) return builtin(r, e);
    if (is_array(e->o, e->field)) return load_array(r, e);
    if (!number_of(e, &n)) {
        note_use(r, e, e->field, READ_IS_INDEXED | READ_IS_READ);
        return read_any(r, f->type);
    }
    if (e->o->kind == READ_VARIABLE) return vy_get(r->b, e->o->vars[n]);
    note_scalar(r, e, n);
    const bool declared = n < READ_MOST_SCALARS && e->o->scalars[n].id;
    return declared ? e->o->scalars[n] : read_any(r, f->type);
}

static bool store_element(reading *r, const element *e, vy_value v)
{
    const read_field *f = &e->o->fields[e->field];
    vy_value index[READ_MOST_AXES + 1];
    uint32_t n;
    if (e->o->kind == READ_BUILTIN || e->o->kind == READ_PARAMETER)
        return read_fail(r, VY_E_SHADER_WORDS, "", "a store to what only can be read");
    if (is_array(e->o, e->field)) {
        note_field(r, e, READ_IS_WRITTEN);
        if (f->type == VY_BOOL) v = vy_cast(r->b, VY_U32, v);
        if (!array_index(r, e, index)) return !vy_builder_failed(r->b);
        if (e->o->alias) return read_alias_store(r, e->o->alias, f, e->index, v);
        vy_store(r->b, f->buffer, index, v);
    } else if (number_of(e, &n)) {
        vy_set(r->b, e->o->vars[n], v);
    } else {
        note_use(r, e, e->field, READ_IS_INDEXED);
    }
    return !vy_builder_failed(r->b);
}

// -------------------------------------------------------------------------------- loads, stores
typedef struct transfer { // of a value of several scalars
    reading *r;
    vy_value *loaded;       // NULL: a store of …
    const vy_value *stored; // … these, or …
    uint8_t use;            // … nothing: only this use is noted
    uint32_t next;          // scalar of the value
    element e;
} transfer;

// A use that is guessed, before anything is declared (guess.c).
static bool note_element(reading *r, const element *e, uint8_t use)
{
    uint32_t n;
    if (e->o->kind == READ_BUILTIN) return true;
    if (e->o->kind == READ_PARAMETER && number_of(e, &n))
        note_scalar(r, e, n);
    else
        note_field(r, e, use);
    return true;
}

static bool transfer_type(transfer *t, uint32_t type);

static bool transfer_elements(transfer *t, const read_type *of)
{
    bool ok = true;
    for (uint32_t k = 0; ok && k < of->count; k++) {
        t->e.index[t->e.rank++] = (read_index){.known = true, .number = k};
        ok = transfer_type(t, of->element);
        t->e.rank--;
    }
    return ok;
}

static bool transfer_members(transfer *t, uint32_t type)
{
    bool ok = true;
    for (uint32_t k = 0; ok && k < read_type_of(t->r, type)->count; k++) {
        const uint32_t member = read_word_of(&t->r->w, type, 2 + k), before = t->e.field;
        ok = transfer_type(t, member);
        t->e.field = before + read_type_of(t->r, member)->fields;
    }
    return ok;
}

static bool transfer_type(transfer *t, uint32_t type)
{
    const read_type *of = read_type_of(t->r, type);
    if (of->op == SpvOpTypeStruct) {
        const uint32_t before = t->e.field;
        const bool ok = transfer_members(t, type);
        t->e.field = before;
        return ok;
    }
    if (of->element && t->e.rank == READ_MOST_AXES)
        return read_fail(t->r, VY_E_SHADER_LIMIT, "", "a type is nested too deep");
    if (of->element) return transfer_elements(t, of);
    if (t->use) return note_element(t->r, &t->e, t->use);
    if (t->loaded) {
        t->loaded[t->next++] = load_element(t->r, &t->e);
        return !vy_builder_failed(t->r->b);
    }
    return store_element(t->r, &t->e, t->stored[t->next++]);
}

// False: what the pointer points to has no values, as runtime arrays have none.
static bool begin_transfer(transfer *t, reading *r, const read_pointer *p)
{
    if (!read_type_of(r, p->type)->scalars)
        return read_fail(r, VY_E_SHADER_WORDS, "", "a load or store of what has no values");
    t->r = r; // not all of it is cleared: it has room for many axes
    t->loaded = NULL, t->stored = NULL;
    t->use = 0, t->next = 0;
    t->e.o = p->object;
    t->e.field = p->field;
    t->e.rank = p->rank;
    for (uint32_t k = 0; k < p->rank; k++) t->e.index[k] = p->index[k];
    return true;
}

bool read_load_from(reading *r, const read_pointer *p, vy_value *out)
{
    transfer t;
    if (!begin_transfer(&t, r, p)) return false;
    t.loaded = out;
    return transfer_type(&t, p->type);
}

bool read_note_transfer(reading *r, const read_pointer *p, uint8_t use)
{
    const uint32_t n = read_type_of(r, p->type)->scalars;
    transfer t;
    if (n > READ_MOST_OF_VALUE)
        return read_fail(r, VY_E_SHADER_LIMIT, "", "no guess: a value is too large");
    if (!n || !begin_transfer(&t, r, p)) return n == 0; // what has no values the build reports
    t.use = use;
    return transfer_type(&t, p->type);
}

bool read_load(reading *r)
{
    const uint32_t id = read_word(&r->w, r->at, 2), type = read_word(&r->w, r->at, 1);
    read_pointer *p = read_pointer_of(r, read_word(&r->w, r->at, 3));
    if (p && read_is_image(r, type)) { // it stays where it is
        r->pointers[id] = p;
        return true;
    }
    const uint32_t n = read_type_of(r, type)->scalars;
    if (p && read_type_of(r, p->type)->scalars != n)
        return read_fail(r, VY_E_SHADER_WORDS, "", "a load of a value of another type");
    vy_value *v = p ? read_room(r, type) : NULL;
    return v && read_load_from(r, p, v) && read_define(r, id, n, v);
}

bool read_store_scalars(reading *r, const read_pointer *p, const vy_value *v)
{
    transfer t;
    if (!begin_transfer(&t, r, p)) return false;
    t.stored = v;
    return transfer_type(&t, p->type);
}

bool read_store_to(reading *r, const read_pointer *p, uint32_t value)
{
    const uint32_t n = read_type_of(r, p->type)->scalars;
    vy_value *v = read_room(r, p->type);
    if (v && read_scalar_count(r, value) != n)
        return read_fail(r, VY_E_SHADER_WORDS, "", "a store of a value of another type");
    for (uint32_t k = 0; v && k < n; k++) v[k] = read_scalar(r, value, k);
    return v && !vy_builder_failed(r->b) && read_store_scalars(r, p, v);
}

bool read_copy(reading *r)
{
    const read_pointer *to = read_pointer_of(r, read_word(&r->w, r->at, 1));
    const read_pointer *from = to ? read_pointer_of(r, read_word(&r->w, r->at, 2)) : NULL;
    vy_value *v = from ? read_room(r, from->type) : NULL;
    if (v && read_type_of(r, from->type)->scalars != read_type_of(r, to->type)->scalars)
        return read_fail(r, VY_E_SHADER_WORDS, "", "a copy of a value of another type");
    return v && read_load_from(r, from, v) && read_store_scalars(r, to, v);
}

bool read_store(reading *r)
{
    const read_pointer *p = read_pointer_of(r, read_word(&r->w, r->at, 1));
    return p && read_store_to(r, p, read_word(&r->w, r->at, 2));
}

bool read_array_length(reading *r)
{
    const uint32_t id = read_word(&r->w, r->at, 2);
    const read_pointer *base = read_pointer_of(r, read_word(&r->w, r->at, 3));
    if (!base) return false;
    element e;
    e.o = base->object, e.field = base->field, e.rank = 0;
    const read_type *t = read_type_of(r, base->type);
    const uint32_t member = read_word(&r->w, r->at, 4);
    for (uint32_t k = 0; k < member && k < t->count; k++)
        e.field += read_type_of(r, read_word_of(&r->w, base->type, 2 + k))->fields;
    if (e.field >= e.o->field_count || !e.o->fields[e.field].rank)
        return read_fail(r, VY_E_SHADER_WORDS, "", "the length of what is no array");
    const vy_buffer buffer = e.o->fields[e.field].buffer;
    note_use(r, &e, e.field, READ_IS_READ);
    const vy_value v = !buffer.id   ? read_any(r, VY_U32)
                       : e.o->alias ? read_alias_length(r, e.o->alias, &e.o->fields[e.field])
                                    : vy_len(r->b, buffer, 0);
    return read_define(r, id, 1, &v);
}

bool read_element(reading *r, uint32_t pointer, uint8_t use, vy_buffer *buffer, vy_value **index)
{
    const read_pointer *p = read_pointer_of(r, pointer);
    transfer t;
    if (!p || !begin_transfer(&t, r, p)) return false;
    if (p->object->kind != READ_BUFFER && p->object->kind != READ_SHARED &&
        p->object->kind != READ_IMAGE)
        return read_refuse(r, "use buffers and shared memory", "an atomic of such memory");
    note_use(r, &t.e, t.e.field, use);
    *index = vy_arena_alloc(&r->building, (p->rank + 1) * sizeof **index);
    if (!*index) return read_no_memory(r);
    const read_field *f = &t.e.o->fields[t.e.field];
    array_index(r, &t.e, *index);
    *buffer = f->buffer;
    if (!t.e.o->alias || !f->buffer.id) return true;
    if (f->type != t.e.o->alias->type)
        return read_refuse(r, "declare the binding with one scalar type",
                           "an atomic of one of several variables on one binding");
    return read_alias_index(r, t.e.o->alias, f, t.e.index, *index);
}

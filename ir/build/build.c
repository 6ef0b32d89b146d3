// SPDX-License-Identifier: MIT
// build.c: the builder.  Folds, canonicalises and shares while building, so that passes and
// differentiation may write naive code.
//
// Sharing: a hash table from (operation, type, aux, operands) to the instruction that computes it.
// An entry is valid only while its region is open; one from a closed region is replaced.  Loads
// carry the version of the memory they read: every write to a buffer gives it a new version, and
// loops and barriers give one to all memory that is written, because a loop's body may write it
// later in the text.
#include "ir/build/build.h"
#include "ir/build/edit.h"

#include <assert.h>
#include <string.h>

vy_program *vy_builder_program(vy_builder *b) { return b->p; }
vy_module *vy_builder_module(vy_builder *b) { return b->m; }

void vy_at(vy_builder *b, uint32_t line, uint32_t column)
{
    b->line = line;
    b->column = column;
}

// ---------------------------------------------------------------------------------------- sharing
bool vy_visible(const vy_builder *b, uint32_t id)
{
    if (VY_IS_LEAF(id)) return VY_LEAF_INDEX(id) < b->p->leaves.count;
    return id && id < b->p->insts.count && b->open.data[b->notes.data[id].region];
}

static uint32_t inst_hash(const vy_inst *i, const uint32_t *args, uint32_t version)
{
    uint64_t h = ((uint64_t)i->op << 40 | (uint64_t)i->type << 32 | i->aux) * 0x9E3779B97F4A7C15u;
    h = (h ^ (h >> 29) ^ version) * 0xBF58476D1CE4E5B9u;
    for (uint32_t k = 0; k < i->nargs; k++) h = (h ^ (h >> 32) ^ args[k]) * 0x9E3779B97F4A7C15u;
    return (uint32_t)(h >> 32);
}

static bool same_inst(const vy_builder *b, uint32_t id, const vy_inst *want, const uint32_t *args,
                      uint32_t version)
{
    const vy_inst *have = &b->p->insts.data[id];
    return have->op == want->op && have->type == want->type && have->aux == want->aux &&
           have->nargs == want->nargs && b->notes.data[id].version == version &&
           (want->nargs == 0 || memcmp(vy_args(b->p, id), args, want->nargs * sizeof *args) == 0);
}

// Where an instruction is looked for: in one line of the table, and if that is full, in others,
// whose distance its hash tells.  Instructions near each other use values near each other and so
// share lines: a table spread by hashes alone misses every cache where programs have a million
// instructions.  But the lines of neighbours are full together: what has no room there must not
// look in the next, where every other instruction of a large program looks too, but far away.  At
// least a quarter of the entries is free, so few lines are looked at, however large the program.
enum { LINE = 8 }; // entries, 64 bytes

static uint32_t line_of(const vy_builder *b, uint32_t hash, uint32_t nargs, const uint32_t *args)
{
    uint32_t last = 0; // the latest operand
    for (uint32_t k = 0; k < nargs; k++)
        if (!VY_IS_LEAF(args[k]) && args[k] > last) last = args[k];
    return (last ? last / (LINE / 2) * LINE : hash) & (b->table_size - LINE);
}

// The line after `line` for `hash`.  The distance is an odd number of lines, so that all are
// visited; its bits are not those that chose the first line of an instruction without operands.
static uint32_t next_line(const vy_builder *b, uint32_t line, uint32_t hash)
{
    const uint32_t distance = (hash >> 16 | hash << 16 | LINE) & ~(uint32_t)(LINE - 1);
    return (line + distance) & (b->table_size - LINE);
}

// Enters `e`, of a value that the table does not have.
static void table_enter(vy_builder *b, build_entry e)
{
    uint32_t line = line_of(b, e.hash, b->p->insts.data[e.id].nargs, vy_args(b->p, e.id));
    for (;; line = next_line(b, line, e.hash))
        for (build_entry *at = &b->table[line]; at < &b->table[line + LINE]; at++)
            if (!at->id) {
                *at = e;
                return;
            }
}

static bool table_grow(vy_builder *b)
{
    build_entry *old = b->table;
    const uint32_t old_size = b->table_size;
    uint32_t size = old_size ? old_size * 2 : 128;
    // At first room for those that are expected.
    while (!old_size && size - size / 4 < b->p->insts.capacity) size *= 2;
    build_entry *t = vy_zeroed((size_t)size * sizeof *t);
    if (!t) return false;
    b->table = t;
    b->table_size = size;
    b->table_used = 0;
    for (uint32_t i = 0; i < old_size; i++) {
        if (!old[i].id || !vy_visible(b, old[i].id))
            continue; // those of closed regions are dropped
        table_enter(b, old[i]);
        b->table_used++;
    }
    vy_free(old);
    return true;
}

// The slot of an equal instruction, or the slot where a new one belongs, with its hash.
static build_entry *table_find(vy_builder *b, const vy_inst *want, const uint32_t *args,
                               uint32_t version)
{
    const uint32_t hash = inst_hash(want, args, version);
    uint32_t line = line_of(b, hash, want->nargs, args);
    for (;; line = next_line(b, line, hash)) {
        b->looked++;
        for (build_entry *e = &b->table[line]; e < &b->table[line + LINE]; e++) {
            if (e->id && (e->hash != hash || !same_inst(b, e->id, want, args, version))) continue;
            e->hash = hash;
            return e;
        }
    }
}

// --------------------------------------------------------------------------------------- emission
// Appends an instruction as it is.
uint32_t vy_append(vy_builder *b, vy_inst inst, const uint32_t *args, uint32_t version)
{
    vy_program *p = b->p;
    if (p->insts.count >= VY_MAX_INSTRUCTIONS) {
        vy_build_fail(b, VY_E_LIMIT, "the program has more than %u instructions",
                      VY_MAX_INSTRUCTIONS);
        return 0;
    }
    inst.args = p->args.count;
    inst.line = b->line;
    inst.column = b->column > UINT16_MAX ? UINT16_MAX : (uint16_t)b->column;
    build_note note = {.region = b->regions.data[b->regions.count - 1].serial, .version = version};
    if (!vy_vec_reserve(&p->args, inst.nargs) || !vy_vec_reserve(&p->insts, 1) ||
        !vy_vec_reserve(&b->notes, 1)) {
        vy_build_oom(b);
        return 0;
    }
    for (uint32_t k = 0; k < inst.nargs; k++) p->args.data[p->args.count++] = args[k]; // few
    p->insts.data[p->insts.count++] = inst;
    b->notes.data[b->notes.count++] = note;
    return p->insts.count - 1;
}

bool vy_op_commutes(vy_op op)
{
    return op == VY_OP_ADD || op == VY_OP_MUL || op == VY_OP_AND || op == VY_OP_OR ||
           op == VY_OP_XOR || op == VY_OP_EQ || op == VY_OP_NE || op == VY_OP_FMA;
}

// Operand order of commutative operations: instructions in program order, then leaves other than
// constants, then constants.  (min and max do not commute: ties, NaN.)
static uint32_t rank_of(const vy_program *p, uint32_t id)
{
    return !VY_IS_LEAF(id) ? 0 : vy_id_const(p, id) ? 2 : 1;
}

// Must operand `b` precede `a`?  Leaves are ordered by content, not by first use, so that equal
// programs have equal operands.
static bool out_of_order(const vy_program *p, uint32_t a, uint32_t b)
{
    uint32_t ra = rank_of(p, a), rb = rank_of(p, b);
    if (ra != rb || ra == 0) return ra > rb || (ra == rb && a > b);
    const vy_leaf *x = &p->leaves.data[VY_LEAF_INDEX(a)], *y = &p->leaves.data[VY_LEAF_INDEX(b)];
    if (x->kind != y->kind) return x->kind > y->kind;
    if (x->index != y->index) return x->index > y->index;
    if (x->axis != y->axis) return x->axis > y->axis;
    return x->value.u > y->value.u;
}

static uint32_t memory_version(const vy_builder *b, uint32_t buffer)
{
    if (b->p->buffers.data[buffer].cls == VY_IN) return 0;
    uint32_t v = b->versions.data[buffer];
    return v > b->epoch ? v : b->epoch;
}

static void note_write(vy_builder *b, vy_op op, uint32_t aux)
{
    if (op == VY_OP_BARRIER)
        b->epoch = ++b->clock;
    else if (vy_op_infos[op].effect == VY_WRITE)
        b->versions.data[aux] = ++b->clock;
}

// The operands, in canonical order if the operation is commutative.
static const uint32_t *in_order(const vy_builder *b, vy_op op, uint32_t nargs, const uint32_t *args,
                                uint32_t swapped[3])
{
    if (nargs < 2 || !vy_op_commutes(op) || !out_of_order(b->p, args[0], args[1])) return args;
    swapped[0] = args[1], swapped[1] = args[0];
    if (nargs == 3) swapped[2] = args[2];
    return swapped;
}

uint32_t vy_made_before(vy_builder *b, vy_op op, vy_type type, uint32_t nargs, const uint32_t *args)
{
    uint32_t swapped[3];
    if (!b->table_size) return 0;
    const vy_inst inst = {.op = (uint16_t)op, .type = (uint8_t)type, .nargs = nargs};
    uint32_t id = table_find(b, &inst, in_order(b, op, nargs, args, swapped), 0)->id;
    return id && vy_visible(b, id) ? id : 0;
}

// The results of call `id`, an instruction just appended (ir/core/functions.h).
static bool append_results(vy_builder *b, uint32_t id, uint32_t function)
{
    const vy_function *f = &b->m->functions.data[function];
    for (uint32_t k = 0; f->result_count > 1 && k < f->result_count; k++) {
        const vy_inst pick = {.op = VY_OP_PICK, .type = f->results[k], .nargs = 1, .aux = k};
        if (!vy_append(b, pick, &id, 0)) return false;
    }
    return true;
}

static bool is_call(const vy_builder *b, uint32_t id)
{
    return !VY_IS_LEAF(id) && b->p->insts.data[id].op == VY_OP_APPLY;
}

uint32_t vy_emit(vy_builder *b, vy_op op, vy_type type, uint32_t aux, uint32_t nargs,
                 const uint32_t *args)
{
    if (b->failed) return 0;
    if (op == VY_OP_PICK && is_call(b, args[0])) return args[0] + 1 + aux;
    vy_effect effect = vy_op_infos[op].effect;
    assert(effect != VY_CTRL);
    uint32_t swapped[3];
    args = in_order(b, op, nargs, args, swapped);
    vy_inst inst = {.op = (uint16_t)op, .type = (uint8_t)type, .nargs = nargs, .aux = aux};
    if (effect == VY_PURE) {
        uint32_t folded = vy_fold(b, op, type, aux, nargs, args);
        if (folded || b->failed) return folded;
    }
    if (effect == VY_WRITE || effect == VY_CONV) {
        uint32_t id = vy_append(b, inst, args, 0);
        note_write(b, op, aux);
        return type == VY_VOID ? 0 : id;
    }
    uint32_t version = effect == VY_READ ? memory_version(b, aux) : 0;
    if (b->table_used >= b->table_size - b->table_size / 4 && !table_grow(b)) {
        vy_build_oom(b);
        return 0;
    }
    build_entry *slot = table_find(b, &inst, args, version);
    if (slot->id && vy_visible(b, slot->id)) return slot->id;
    bool fresh = slot->id == 0;
    uint32_t id = vy_append(b, inst, args, version);
    if (!id || (op == VY_OP_APPLY && !append_results(b, id, aux))) return 0;
    slot->id = id;
    b->table_used += fresh;
    return id;
}

void vy_emit_flags(vy_builder *b, uint32_t id, uint8_t flags)
{
    uint32_t last = b->p->insts.count - 1;
    if (b->failed || (id && id != last)) return; // an earlier instruction is shared
    b->p->insts.data[last].flags |= flags;
}

uint32_t vy_emit_update(vy_builder *b, vy_op atomic, vy_strength strength, uint32_t buffer,
                        uint32_t nargs, const uint32_t *args)
{
    if (b->failed) return 0;
    const vy_type type = vy_type_loaded(b->p->buffers.data[buffer].type);
    const vy_op op = vy_op_plain(atomic);
    uint32_t all[VY_MAX_RANK + 1], rank = nargs - 1;
    if (strength != VY_STRENGTH_PLAIN) {
        uint32_t id = vy_emit(b, atomic, type, buffer, nargs, args);
        vy_emit_flags(b, id, vy_strength_flags(strength));
        return id;
    }
    memcpy(all, args, nargs * sizeof *all);
    uint32_t old = vy_emit(b, VY_OP_LOAD, type, buffer, rank, args);
    if (op != VY_OP_NONE) all[rank] = vy_emit(b, op, type, 0, 2, (uint32_t[]){old, args[rank]});
    vy_emit(b, VY_OP_STORE, VY_VOID, buffer, nargs, all);
    return old;
}

void vy_name(vy_builder *b, vy_value v, const char *name)
{
    if (b->failed || !v.id || VY_IS_LEAF(v.id) || !name) return;
    vy_inst *inst = &b->p->insts.data[v.id];
    if (inst->name) return;               // the first name stays
    if (!vy_name_printable(name)) return; // it would be lost in text
    inst->name = vy_intern(&b->m->names, name, strlen(name));
    if (!inst->name) vy_build_oom(b);
}

// SPDX-License-Identifier: MIT
// outlives.c: guesses which values outlive the construct that computes them.
//
//   loop { body { %a = … ; if c { return; } %b = … ; }  end: phi of %a, %b }  … %a …
//
// %b is computed behind what may leave the loop, so in a guard (ir/build/control.c), and used
// behind the guard: it is a variable.  So is %a, for what follows the loop; but not for the end
// of the iteration.  To find that out, blocks are looked at once, in the order of the module, in
// which each follows what dominates it.  Frames are those that control.c opens for constructs, with
// the innermost region that is open in each: arms, loops and guards are regions, blocks are none.
// As in guess.c, nothing is built and no condition is known; a build tells whether the guess is
// right.
#include "spirv/read/reading.h"

enum { DEEPEST = 2048, NEVER = UINT32_MAX };

typedef struct region {
    uint32_t parent, depth;
} region;
VY_VEC_TYPE(region_vec, region);

typedef enum frame_kind { ARM, BLOCK, LOOP } frame_kind; // a function is a block

typedef struct frame {
    uint32_t parent, depth, label; // label: a branch to it leaves the frame; 0: none does
    frame_kind kind;
    uint32_t base, now; // the region that it begins in; that of the guard that is open, else base
    uint32_t left;      // the depth of the outermost frame that something in it may leave
    uint32_t fresh;     // … since the last guard
} frame;
VY_VEC_TYPE(frame_vec, frame);

typedef struct walk {
    reading *r;
    region_vec regions; // the first of both is none
    frame_vec frames;
    uint32_t *places, *ends; // by id of a label: the frame of its block; the one that ends before
    uint32_t *blocks;        // by id of a label: the region of its block; 0: nothing reaches it
    uint32_t *values; // by id of a value: the region that computes it; of a function: it is in todo
    vy_id_vec todo, phis, tests; // functions; where OpPhi are; LoopMerge of loops with a test
    vy_id_vec headers;           // … and their headers
    uint32_t here, now, label;   // the frame, the region, the block that is looked at
} walk;

// ------------------------------------------------------------------------------------- regions
static uint32_t open_region(walk *k, uint32_t parent)
{
    const region s = {parent, parent ? k->regions.data[parent].depth + 1 : 1};
    if (s.depth > DEEPEST || !vy_vec_push(&k->regions, s)) return parent;
    return k->regions.count - 1;
}

static void use(walk *k, uint32_t id, uint32_t region)
{
    const uint32_t from = id < k->r->w.bound ? k->values[id] : 0;
    if (!from || from == region) return;
    while (k->regions.data[region].depth > k->regions.data[from].depth)
        region = k->regions.data[region].parent;
    if (region != from) k->r->facts[id] |= READ_OUTLIVES;
}

static void use_all(walk *k, uint32_t at, uint32_t first, uint32_t end)
{
    for (uint32_t i = first; i < end; i++) use(k, read_word(&k->r->w, at, i), k->now);
}

// -------------------------------------------------------------------------------------- frames
static uint32_t open_frame(walk *k, frame_kind kind, uint32_t parent, uint32_t label)
{
    const frame *p = &k->frames.data[parent];
    frame f = {.parent = parent, .depth = parent ? p->depth + 1 : 1, .label = label};
    f.kind = kind;
    f.base = f.now = kind == BLOCK && parent ? p->now : open_region(k, parent ? p->now : 0);
    f.left = f.fresh = NEVER;
    if (f.depth > DEEPEST || !vy_vec_push(&k->frames, f)) return parent;
    return k->frames.count - 1;
}

static void place(walk *k, uint32_t label, uint32_t where)
{
    if (label < k->r->w.bound && !k->places[label]) k->places[label] = where;
}

// Frames up to the one of that depth are left.
static void leave(walk *k, uint32_t from, uint32_t depth)
{
    frame *f = k->frames.data;
    if (depth < f[from].fresh) f[from].fresh = depth;
    for (; from && f[from].depth >= depth && f[from].left > depth; from = f[from].parent)
        f[from].left = depth;
}

// A branch to what may be the end of a construct; false: it is none.
static bool branch_leaves(walk *k, uint32_t label)
{
    const frame *f = k->frames.data;
    uint32_t e = k->here;
    bool innermost = true;
    for (; e && f[e].label != label; e = f[e].parent) innermost = innermost && f[e].kind == ARM;
    if (!e) return false;
    if (!innermost || f[e].kind == LOOP) leave(k, k->here, f[e].depth);
    return true;
}

static void go_to(walk *k, uint32_t label, frame_kind kind) // ARM: in one of its own
{
    const uint32_t before = k->here;
    if (kind == ARM) k->here = open_frame(k, ARM, before, 0);
    if (!branch_leaves(k, label)) place(k, label, k->here);
    k->here = before;
}

// Code goes on behind frame `ended`, in a guard if that may have left what this is in.
static void end_frame(walk *k, uint32_t ended)
{
    frame *f = k->frames.data, *p = &f[f[ended].parent];
    uint32_t live = f[ended].parent;
    if (f[ended].left < p->fresh) p->fresh = f[ended].left;
    while (live && f[live].kind == ARM) live = f[live].parent;
    if (p->fresh > f[live].depth) return;
    p->now = open_region(k, p->base);
    p->fresh = NEVER;
}

// Block `label` follows the construct of frame f; or the construct ends where one around it does.
static void follow(walk *k, uint32_t label, uint32_t f)
{
    if (branch_leaves(k, label) || label >= k->r->w.bound || k->places[label]) return;
    k->places[label] = k->here;
    k->ends[label] = f;
}

// ---------------------------------------------------------------------------------- constructs
// The header's values are of the loop's region, which its merge instruction tells of too late.
static void move_header(walk *k, uint32_t merge)
{
    const read_words *w = &k->r->w;
    for (uint32_t at = read_definition(w, k->label); at < merge; at = read_next(w, at)) {
        const uint32_t id = read_word(w, at, 2);
        if (id < w->bound && read_definition(w, id) == at && k->values[id]) k->values[id] = k->now;
    }
    k->blocks[k->label] = k->now;
}

static void place_body(walk *k, uint32_t test, uint32_t merge, uint32_t body)
{
    const read_words *w = &k->r->w;
    uint32_t at = read_next(w, read_definition(w, test));
    while (at < w->count && read_op(w, at) != SpvOpBranchConditional) at = read_next(w, at);
    for (uint32_t i = 2; i < 4 && at < w->count; i++)
        if (read_word(w, at, i) != merge) place(k, read_word(w, at, i), body);
}

// Its frames are those of `loop` in control.c.
static bool see_loop(walk *k, uint32_t at)
{
    const uint32_t merge = read_word(&k->r->w, at, 1), again = read_word(&k->r->w, at, 2);
    const uint32_t test = read_test_block(k->r, k->label, merge, again);
    const uint32_t loop = open_frame(k, LOOP, k->here, merge);
    follow(k, merge, loop);
    const uint32_t end = open_frame(k, BLOCK, loop, k->label);
    const uint32_t body = again == k->label ? end : open_frame(k, BLOCK, end, again);
    if (again != k->label && again < k->r->w.bound && !k->places[again]) {
        k->places[again] = end;
        k->ends[again] = body;
    }
    k->here = test ? loop : body;
    k->now = k->frames.data[k->here].now;
    move_header(k, at);
    if (!test) return true;
    place_body(k, test, merge, body);
    return (vy_vec_push(&k->tests, at) && vy_vec_push(&k->headers, k->label)) ||
           read_no_memory(k->r);
}

static void see_selection(walk *k, uint32_t at)
{
    const uint32_t merge = read_word(&k->r->w, at, 1);
    const uint32_t f = open_frame(k, BLOCK, k->here, merge);
    follow(k, merge, f);
    k->here = f;
}

static void see_branch(walk *k, uint32_t at)
{
    const read_words *w = &k->r->w;
    const uint32_t c = read_word(w, at, 1), yes = read_word(w, at, 2), no = read_word(w, at, 3);
    const SpvOp op = read_op_of(w, c);
    use(k, c, k->now);
    if (yes == no || op == SpvOpConstantTrue || op == SpvOpConstantFalse) {
        go_to(k, op == SpvOpConstantFalse ? no : yes, BLOCK);
        return;
    }
    // The loop's own test leaves nothing: its other side has been placed.
    if (k->frames.data[k->here].kind == LOOP) return;
    go_to(k, yes, ARM);
    go_to(k, no, ARM);
}

static void see_switch(walk *k, uint32_t at)
{
    const read_words *w = &k->r->w;
    const uint32_t selector = read_word(w, at, 1);
    const vy_type type = read_scalar_type(k->r, read_type_id(k->r, selector), 0);
    const uint32_t step = vy_type_size(type) == 8 ? 3 : 2;
    use(k, selector, k->now);
    for (uint32_t i = 2; i < read_length(w, at); i += step) go_to(k, read_word(w, at, i), ARM);
}

// -------------------------------------------------------------------------------- instructions
static bool see_call(walk *k, uint32_t at)
{
    const uint32_t f = read_word(&k->r->w, at, 3);
    use_all(k, at, 4, read_length(&k->r->w, at));
    if (f >= k->r->w.bound || k->values[f] || read_library_of(k->r, f)) return true;
    k->values[f] = 1;
    return vy_vec_push(&k->todo, f) || read_no_memory(k->r);
}

// Its operands that are values, which begin at word `first` of it.
static void see_operands(walk *k, uint32_t at, SpvOp op, uint32_t first)
{
    uint32_t end = read_length(&k->r->w, at);
    if (op == SpvOpCompositeExtract) end = 4;
    if (op == SpvOpCompositeInsert || op == SpvOpVectorShuffle) end = 5;
    if (op == SpvOpExtInst) first = 5;
    if (op == SpvOpStore) first = 2, end = 3;
    use_all(k, at, first, end);
}

static bool see(walk *k, uint32_t at, SpvOp op, uint32_t first)
{
    switch (op) {
    case SpvOpPhi: return vy_vec_push(&k->phis, at) || read_no_memory(k->r);
    case SpvOpLoopMerge: return see_loop(k, at);
    case SpvOpSelectionMerge: return see_selection(k, at), true;
    case SpvOpBranch: return go_to(k, read_word(&k->r->w, at, 1), BLOCK), true;
    case SpvOpBranchConditional: return see_branch(k, at), true;
    case SpvOpSwitch: return see_switch(k, at), true;
    case SpvOpFunctionCall: return see_call(k, at);
    case SpvOpReturn: return leave(k, k->here, 1), true;
    case SpvOpReturnValue: use_all(k, at, 1, 2); return leave(k, k->here, 1), true;
    case SpvOpLine:
    case SpvOpNoLine:
    case SpvOpLoad:
    case SpvOpVariable: return true;
    default: break;
    }
    see_operands(k, at, op, first);
    return true;
}

static void see_label(walk *k, uint32_t label)
{
    k->label = label;
    k->here = k->places[label];
    if (k->ends[label]) end_frame(k, k->ends[label]);
    k->now = k->blocks[label] = k->frames.data[k->here].now;
}

// A parameter is visible everywhere.
static bool is_parameter(const walk *k, uint32_t at)
{
    const uint32_t type = read_type_id(k->r, read_word(&k->r->w, at, 3));
    const SpvStorageClass s = read_type_of(k->r, type)->storage;
    return s == SpvStorageClassPushConstant || s == SpvStorageClassInput;
}

// An OpPhi is a variable in any case; a constant is computed again; pointers are no values.
static bool is_value(const walk *k, uint32_t at, SpvOp op)
{
    if (op == SpvOpLoad) return !is_parameter(k, at);
    return op != SpvOpPhi && op != SpvOpUndef && op != SpvOpVariable && op != SpvOpAccessChain &&
           op != SpvOpInBoundsAccessChain;
}

static bool see_function(walk *k, uint32_t id)
{
    const read_words *w = &k->r->w;
    const uint32_t root = open_frame(k, BLOCK, 0, 0);
    uint32_t at = read_definition(w, id);
    bool ok = read_op_of(w, id) == SpvOpFunction;
    k->here = k->label = 0;
    k->now = k->frames.data[root].base;
    for (; ok && at < w->count && read_op(w, at) != SpvOpFunctionEnd; at = read_next(w, at)) {
        const SpvOp op = read_op(w, at);
        if (op == SpvOpLabel) {
            if (!k->label) place(k, read_word(w, at, 1), root);
            see_label(k, read_word(w, at, 1));
        } else if (op != SpvOpFunction && k->now) {
            const uint32_t result = read_word(w, at, 2);
            const bool gives = read_definition(w, result) == at;
            if (gives && is_value(k, at, op)) k->values[result] = k->now;
            if (op != SpvOpFunctionParameter) ok = see(k, at, op, gives ? 3 : 1);
        }
    }
    return ok;
}

// What an OpPhi is of is used where the branch to it is.
static void see_phis(walk *k)
{
    const read_words *w = &k->r->w;
    for (uint32_t n = 0; n < k->phis.count; n++) {
        const uint32_t at = k->phis.data[n];
        for (uint32_t i = 3; i + 1 < read_length(w, at); i += 2) {
            const uint32_t from = read_word(w, at, i + 1);
            const uint32_t region = from < w->bound ? k->blocks[from] : 0;
            if (region) use(k, read_word(w, at, i), region);
        }
    }
}

// Has some loop no test any more, now that values of its header are known to outlive it?
static bool loses_test(const walk *k)
{
    const read_words *w = &k->r->w;
    for (uint32_t n = 0; n < k->tests.count; n++) {
        const uint32_t at = k->tests.data[n];
        if (!read_test_block(k->r, k->headers.data[n], read_word(w, at, 1), read_word(w, at, 2)))
            return true;
    }
    return false;
}

static bool see_all(reading *r, bool *again)
{
    walk k = {.r = r};
    const size_t n = r->w.bound + 1;
    uint32_t *all = vy_arena_alloc(&r->building, 4 * n * sizeof *all);
    k.places = all, k.ends = all + n, k.blocks = all + 2 * n, k.values = all + 3 * n;
    bool ok = (all && vy_vec_push(&k.regions, (region){0}) && vy_vec_push(&k.frames, (frame){0}) &&
               vy_vec_push(&k.todo, r->main)) ||
              read_no_memory(r);
    while (ok && k.todo.count) ok = see_function(&k, k.todo.data[--k.todo.count]);
    if (ok) see_phis(&k);
    *again = ok && loses_test(&k);
    vy_vec_free(&k.regions);
    vy_vec_free(&k.frames);
    vy_vec_free(&k.todo);
    vy_vec_free(&k.phis);
    vy_vec_free(&k.tests);
    vy_vec_free(&k.headers);
    return ok;
}

bool read_guess_outlives(reading *r)
{
    bool ok = true, again = true;
    for (uint32_t k = 0; ok && again && k < 4; k++) ok = see_all(r, &again);
    return ok;
}

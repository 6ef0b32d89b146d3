// SPDX-License-Identifier: MIT
// validation_work.c: how long libspirv's validator will take, from one look at the words.
//
// The validator asks "does block A dominate block B?" by walking up B's chain of immediate
// dominators, a step at a time, until it finds A or the function's entry.  It asks
//
//   for each edge of each block of each construct (a loop, a selection): the construct's header?
//   for each operand that a function computes: the block that defines it?
//
// (in vain, up to the entry, where the edge leaves the construct), so that n nested loops take time
// as n³, n loops in sequence as n².  Other things that it does are linear, and fast.  What is
// counted here are the steps of these walks.  In structured control flow they are differences of
// depths in the tree of dominators: a block's depth is one more than that of the first block that
// names it, be it by a merge or by a branch, as headers name their merge and continue blocks before
// any branch does.
//
// A step took 58 to 129 ns for all shapes that were measured (docs/performance.md, "Compile cost"),
// from 0.05 to 2.7 s.  The count is an estimate all the same: literals may be taken for ids, blocks
// that no block names before them for ones of the entry.  Nothing depends on it but whether the
// validator runs.
#include "spirv/words/module.h"

#include "spirv/spirv_opcodes.h"

enum { HEADER = 5, BOUND = 3 };

typedef struct open_construct {
    uint32_t merge;  // the label that ends it
    uint32_t header; // its header's depth; those of constructs within it are larger
    uint64_t before; // sum of the headers' depths of those around it
} open_construct;
VY_VEC_TYPE(open_constructs, open_construct);

typedef struct walk {
    // By id, of a label: its depth in the tree of dominators, the entry is 1; of a value: that of
    // the block which computes it; 0: neither, or not yet named.
    uint32_t *depth;
    uint32_t bound;
    open_constructs open;
    uint32_t here;            // the depth of this block; 0: outside functions
    uint32_t blocks, nesting; // the latter: the most constructs that were open
    uint64_t steps;
    bool oom;
} walk;

static bool has_value(SpvOp op)
{
    switch ((uint32_t)op) {
#define X(name, number, type, result, ...)                                                         \
    case number: return (type) && (result);
        SPV_OPCODES(X)
#undef X
    default: return false;
    }
}

static uint32_t depth_of(const walk *w, uint32_t id) { return id < w->bound ? w->depth[id] : 0; }

static void name_depth(walk *w, uint32_t id, uint32_t depth)
{
    if (id < w->bound && !w->depth[id]) w->depth[id] = depth;
}

// The headers' depths of the outermost n open constructs, added.
static uint64_t headers_of(const walk *w, uint32_t n)
{
    if (n < w->open.count) return w->open.data[n].before;
    return n ? w->open.data[n - 1].before + w->open.data[n - 1].header : 0;
}

// How many open constructs have headers above this depth: those around the others.
static uint32_t headers_above(const walk *w, uint32_t depth)
{
    uint32_t first = 0, end = w->open.count;
    while (first < end) {
        const uint32_t mid = first + (end - first) / 2;
        if (w->open.data[mid].header < depth)
            first = mid + 1;
        else
            end = mid;
    }
    return first;
}

static void begin_block(walk *w, uint32_t label)
{
    if (w->open.count && w->open.data[w->open.count - 1].merge == label) w->open.count--;
    w->blocks++;
    name_depth(w, label, 1);
    w->here = depth_of(w, label);
}

static void begin_construct(walk *w, uint32_t merge)
{
    name_depth(w, merge, w->here + 1);
    const open_construct c = {merge, w->here, headers_of(w, w->open.count)};
    w->oom |= !vy_vec_push(&w->open, c);
    if (w->open.count > w->nesting) w->nesting = w->open.count;
}

// A walk for each open construct, which ends at its header, or at the entry.
static void edge(walk *w, uint32_t to)
{
    name_depth(w, to, w->here + 1);
    const uint32_t depth = depth_of(w, to);
    w->steps += (uint64_t)w->open.count * depth - headers_of(w, headers_above(w, depth));
}

static void uses(walk *w, const uint32_t *operands, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t depth = depth_of(w, operands[i]);
        if (depth && depth < w->here) w->steps += w->here - depth;
    }
}

static void instruction(walk *w, SpvOp op, const uint32_t *operands, uint32_t count)
{
    switch (op) {
    case SpvOpFunctionEnd: w->here = 0; return;
    case SpvOpLabel: begin_block(w, operands[0]); return;
    case SpvOpLoopMerge: name_depth(w, operands[1], w->here + 1); // fall through
    case SpvOpSelectionMerge: begin_construct(w, operands[0]); return;
    case SpvOpBranch: edge(w, operands[0]); return;
    case SpvOpBranchConditional:
        uses(w, operands, 1);
        edge(w, operands[1]);
        edge(w, operands[2]);
        return;
    default: break;
    }
    if (!w->here) return;
    if (op != SpvOpPhi) uses(w, operands, count); // those of a phi are looked for in other blocks
    if (has_value(op)) name_depth(w, operands[1], w->here);
}

bool vy_spirv_validation_work(const uint32_t *words, size_t count, vy_validation *out)
{
    vy_arena arena = {0};
    walk w = {.bound = words[BOUND]};
    w.depth = vy_arena_alloc(&arena, w.bound * sizeof *w.depth);
    w.oom = !w.depth;
    for (size_t at = HEADER; at < count && !w.oom; at += words[at] >> SpvWordCountShift)
        instruction(&w, (SpvOp)(words[at] & SpvOpCodeMask), words + at + 1,
                    (words[at] >> SpvWordCountShift) - 1);
    *out = (vy_validation){.steps = w.steps, .blocks = w.blocks, .nesting = w.nesting};
    vy_vec_free(&w.open);
    vy_arena_free(&arena);
    return !w.oom;
}

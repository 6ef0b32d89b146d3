// SPDX-License-Identifier: MIT
// header.c: the test of a loop: blocks from its header on that do nothing but find out whether it
// goes on (`while {` header `;` condition `} {` body `}` in text).
#include "spirv/read/reading.h"

// Do later blocks need nothing of it but its condition?  What it stores, or they need, would
// be lost where the condition ends the loop: then a loop has the values from before its test.
static bool only_tests(const reading *r, uint32_t at, SpvOp op)
{
    const uint32_t id = read_result(&r->w, at);
    if (op == SpvOpPhi || !id) return op != SpvOpStore && op != SpvOpCopyMemory;
    return op != SpvOpFunctionCall && !(r->facts[id] & READ_OUTLIVES);
}

static bool has_phi(const reading *r, uint32_t label)
{
    uint32_t at = read_definition(&r->w, label);
    do {
        at = read_next(&r->w, at);
    } while (at < r->w.count && read_op(&r->w, at) == SpvOpLine);
    return at < r->w.count && read_op(&r->w, at) == SpvOpPhi;
}

uint32_t read_test_block(const reading *r, uint32_t header, uint32_t merge, uint32_t again)
{
    uint32_t label = header;
    for (uint32_t steps = 0; steps < 8 && !has_phi(r, merge); steps++) {
        uint32_t at = read_next(&r->w, read_definition(&r->w, label));
        for (; at < r->w.count && !read_ends_block(read_op(&r->w, at)); at = read_next(&r->w, at)) {
            const SpvOp op = read_op(&r->w, at);
            if (op == SpvOpSelectionMerge || (op == SpvOpLoopMerge && label != header)) return 0;
            if ((op == SpvOpPhi && label != header) || !only_tests(r, at, op)) return 0;
        }
        if (at >= r->w.count) return 0;
        if (read_op(&r->w, at) == SpvOpBranchConditional) {
            const uint32_t yes = read_word(&r->w, at, 2), no = read_word(&r->w, at, 3);
            return (yes == merge) != (no == merge) ? label : 0;
        }
        if (read_op(&r->w, at) != SpvOpBranch) return 0;
        label = read_word(&r->w, at, 1);
        if (label == merge || label == again || label == header ||
            read_op_of(&r->w, label) != SpvOpLabel)
            return 0;
    }
    return 0;
}

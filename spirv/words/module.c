// SPDX-License-Identifier: MIT
// module.c: a module as section buffers that are joined at the end.
//
// SPIR-V requires its sections in a fixed order, but an emitter learns of a capability, a constant
// or a decoration while it emits code.  So every section has a buffer of its own.
#include "spirv/words/module.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    uint32_t core_since; // version that includes it
} extensions[VY_EXT_COUNT] = {
    [VY_EXT_8BIT_STORAGE] = {"SPV_KHR_8bit_storage", 0x00010500},
    [VY_EXT_16BIT_STORAGE] = {"SPV_KHR_16bit_storage", 0x00010300},
    [VY_EXT_FLOAT_CONTROLS] = {"SPV_KHR_float_controls", 0x00010400},
    [VY_EXT_ATOMIC_FLOAT_ADD] = {"SPV_EXT_shader_atomic_float_add", UINT32_MAX},
};

uint32_t vy_spv_id(vy_spv *m) { return m->next_id++; }

void vy_spv_put(vy_spv *m, vy_words *to, SpvOp op, uint32_t n, const uint32_t *operands)
{
    if (!vy_vec_reserve(to, n + 1)) {
        m->oom = true;
        return;
    }
    uint32_t *w = to->data + to->count;
    w[0] = (n + 1) << SpvWordCountShift | (uint32_t)op;
    if (n) memcpy(w + 1, operands, (size_t)n * 4);
    to->count += n + 1;
}

// Names longer than this are cut: an instruction has at most 65,535 words.
#define MAX_TEXT 4096u

void vy_spv_put_text(vy_spv *m, vy_words *to, SpvOp op, uint32_t n, const uint32_t *operands,
                     const char *text, uint32_t n_after, const uint32_t *after)
{
    size_t length = strlen(text);
    if (length > MAX_TEXT) {
        length = MAX_TEXT;
        while (length && ((unsigned char)text[length] & 0xC0) == 0x80) length--; // whole characters
    }
    uint32_t words = (uint32_t)(length / 4 + 1), total = 1 + n + words + n_after;
    if (!vy_vec_reserve(to, total)) {
        m->oom = true;
        return;
    }
    uint32_t *w = to->data + to->count;
    w[0] = total << SpvWordCountShift | (uint32_t)op;
    if (n) memcpy(w + 1, operands, (size_t)n * 4);
    for (uint32_t i = 0; i < words; i++) {
        uint32_t word = 0;
        for (uint32_t k = 0; k < 4 && i * 4 + k < length; k++)
            word |= (uint32_t)(unsigned char)text[i * 4 + k] << (8 * k);
        w[1 + n + i] = word;
    }
    if (n_after) memcpy(w + 1 + n + words, after, (size_t)n_after * 4);
    to->count += total;
}

void vy_spv_capability(vy_spv *m, SpvCapability c)
{
    for (uint32_t i = 0; i < m->caps.count; i++)
        if (m->caps.data[i] == (uint32_t)c) return;
    if (!vy_vec_push(&m->caps, (uint32_t)c)) m->oom = true;
}

void vy_spv_extension(vy_spv *m, vy_extension x)
{
    if (m->version < extensions[x].core_since) m->extensions |= 1u << x;
}

void vy_spv_feature(vy_spv *m, vy_features bits) { m->features |= bits; }

// How often `name` has been used before; UINT32_MAX when out of memory.
static uint32_t times_given(vy_spv *m, const char *name)
{
    uint32_t at = vy_intern(&m->names, name, strlen(name));
    if (!at || !vy_vec_reserve(&m->name_count, m->names.count)) {
        m->oom = true;
        return UINT32_MAX;
    }
    while (m->name_count.count < m->names.count) m->name_count.data[m->name_count.count++] = 0;
    return m->name_count.data[at]++;
}

// A variable becomes many values.  They are numbered, `s`, `s_1`, `s_2`, because SPIRV-Tools takes
// quadratic time to make equal names distinct.
void vy_spv_name(vy_spv *m, uint32_t id, const char *name)
{
    char numbered[200];
    if (m->options->strip || !id || !name || !*name) return;
    uint32_t times = times_given(m, name);
    if (times == UINT32_MAX) return;
    if (times) {
        snprintf(numbered, sizeof numbered, "%.180s_%u", name, times);
        name = numbered;
    }
    vy_spv_put_text(m, &m->sections[VY_SEC_NAMES], SpvOpName, 1, &id, name, 0, NULL);
}

static int by_value(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static void put_head(vy_spv *m, vy_words *out)
{
    // The generator's id is not registered with Khronos: 0.
    uint32_t head[] = {SpvMagicNumber, m->version, 0, m->next_id, 0};
    if (vy_vec_reserve(out, 5)) {
        memcpy(out->data, head, sizeof head);
        out->count = 5;
    } else {
        m->oom = true;
    }
    vy_spv_capability(m, SpvCapabilityShader);
    if (m->caps.count) qsort(m->caps.data, m->caps.count, sizeof *m->caps.data, by_value);
    for (uint32_t i = 0; i < m->caps.count; i++) VY_PUT(m, out, SpvOpCapability, m->caps.data[i]);
    for (uint32_t i = 0; i < VY_EXT_COUNT; i++)
        if (m->extensions >> i & 1)
            vy_spv_put_text(m, out, SpvOpExtension, 0, NULL, extensions[i].name, 0, NULL);
    if (m->glsl) vy_spv_put_text(m, out, SpvOpExtInstImport, 1, &m->glsl, "GLSL.std.450", 0, NULL);
    VY_PUT(m, out, SpvOpMemoryModel, SpvAddressingModelLogical, SpvMemoryModelGLSL450);
}

uint32_t *vy_spv_finish(vy_spv *m, size_t *count)
{
    vy_words head = {0};
    put_head(m, &head);
    size_t total = head.count;
    for (int i = 0; i < VY_SEC_COUNT; i++) total += m->sections[i].count;
    uint32_t *words = m->oom ? NULL : vy_realloc(NULL, total * 4);
    if (words) {
        memcpy(words, head.data, (size_t)head.count * 4);
        size_t at = head.count;
        for (int i = 0; i < VY_SEC_COUNT; i++) {
            const vy_words *s = &m->sections[i];
            if (s->count) memcpy(words + at, s->data, (size_t)s->count * 4);
            at += s->count;
        }
        *count = total;
    }
    vy_vec_free(&head);
    return words;
}

void vy_spv_free(vy_spv *m)
{
    for (int i = 0; i < VY_SEC_COUNT; i++) vy_vec_free(&m->sections[i]);
    vy_vec_free(&m->caps);
    vy_vec_free(&m->known);
    vy_vec_free(&m->lib);
    vy_vec_free(&m->name_count);
    vy_strings_free(&m->names);
    vy_free(m->table);
    m->table = NULL;
}

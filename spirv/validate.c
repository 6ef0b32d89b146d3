// SPDX-License-Identifier: MIT
// validate.c: libspirv's validator and disassembler.
#include "spirv/emit.h"

#include <spirv-tools/libspirv.h>
#include <stdlib.h>
#include <string.h>

static const spv_target_env environments[] = {SPV_ENV_VULKAN_1_1, SPV_ENV_VULKAN_1_2,
                                              SPV_ENV_VULKAN_1_3};

bool vy_spirv_validate(const uint32_t *words, size_t count, vy_target target, vy_diag *diag)
{
    spv_context context = spvContextCreate(environments[target]);
    spv_diagnostic why = NULL;
    spv_const_binary_t binary = {words, count};
    spv_result_t result = context ? spvValidate(context, &binary, &why) : SPV_ERROR_OUT_OF_MEMORY;
    if (result != SPV_SUCCESS)
        vy_diag_set(diag, VY_E_INVALID_SPIRV, 0, 0, NULL, "internal: invalid SPIR-V for %s: %.300s",
                    vy_target_name(target), why && why->error ? why->error : "no reason given");
    spvDiagnosticDestroy(why);
    spvContextDestroy(context);
    return result == SPV_SUCCESS;
}

char *vy_spirv_disassemble(const uint32_t *words, size_t count, bool color, size_t *size)
{
    spv_context context = spvContextCreate(SPV_ENV_UNIVERSAL_1_6);
    spv_text text = NULL;
    char *copy = NULL;
    uint32_t how = SPV_BINARY_TO_TEXT_OPTION_INDENT | SPV_BINARY_TO_TEXT_OPTION_FRIENDLY_NAMES |
                   SPV_BINARY_TO_TEXT_OPTION_NO_HEADER |
                   (color ? SPV_BINARY_TO_TEXT_OPTION_COLOR : 0);
    if (context && spvBinaryToText(context, words, count, how, &text, NULL) == SPV_SUCCESS) {
        copy = malloc(text->length + 1);
        if (copy) {
            memcpy(copy, text->str, text->length);
            copy[text->length] = 0;
            if (size) *size = text->length;
        }
    }
    spvTextDestroy(text);
    spvContextDestroy(context);
    return copy;
}

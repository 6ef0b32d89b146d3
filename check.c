
#include "spirv/spirv_opcodes.h"
#include <spirv/unified1/GLSL.std.450.h>
#include <stdbool.h>
#include <stdio.h>
#define SPV_ENABLE_UTILITY_CODE
#include <spirv/unified1/spirv.h>
#define X(name, number, type, result, least, version, operands, capabilities) \
    _Static_assert(SpvOp##name == number, #name);
SPV_OPCODES(X)
#undef X
#define X(name, number, least, operands, capabilities) \
    _Static_assert(GLSLstd450##name == number, #name);
SPV_GLSL_STD_450(X)
#undef X
extern inline void SpvHasResultAndType(SpvOp opcode, bool *hasResult, bool *hasResultType);
int main(void)
{
    int wrong = 0;
#define X(name, number, type, result, least, version, operands, capabilities) \
    { \
        bool r, t; \
        SpvHasResultAndType(SpvOp##name, &r, &t); \
        if (r != result || t != type) wrong++, puts(#name); \
    }
    SPV_OPCODES(X)
    return wrong;
}

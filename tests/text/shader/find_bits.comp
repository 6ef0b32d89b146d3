// The highest and lowest bit, also of negative numbers and of 0; bits counted, reversed, extracted with their sign;
// carries, borrows and products of 64 bits.
//
// RUN: vyre-grad run %s --engine eval,vulkan --in u=0,1,4294967295,2147483652 --in y[4,10]=zeros --groups 1 --verbose
// EXPECT: y i32[4, 10] = [-1, -1, -1, 0, 0, 0, 2, 99, 0, 0, 0, 0, 0, 1, -2147483648, 1, 3, 0, 1, 3, 31, -1, 0, 32, -1, -1, 101, -2, -1, -5, 31, 30, 2, 2, 536870913, -4, -2147483642, -2147483645, 1073741844, -16]
#version 450
layout(local_size_x = 4) in;
layout(std430, binding = 0) readonly buffer U { uint u[]; };
layout(std430, binding = 1) writeonly buffer Y { int y[][10]; };

void main()
{
    const uint i = gl_GlobalInvocationID.x;
    const uint v = u[i];
    uint carry, borrow, high, low;
    int signed_high, signed_low;
    y[i][0] = findMSB(v);
    y[i][1] = findMSB(int(v));
    y[i][2] = findLSB(v);
    y[i][3] = bitCount(v);
    y[i][4] = int(bitfieldReverse(v));
    y[i][5] = bitfieldExtract(int(v), 0, 3);
    y[i][6] = int(uaddCarry(v, 2u, carry) + 100u * carry);
    y[i][7] = int(usubBorrow(v, 1u, borrow) + 100u * borrow);
    umulExtended(v, v, high, low);
    y[i][8] = int(high ^ low);
    imulExtended(int(v), 3, signed_high, signed_low);
    y[i][9] = signed_high * 10 + (signed_low & 7);
}

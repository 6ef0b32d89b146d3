// SPDX-License-Identifier: MIT
#ifndef VYRE_SHA256_H
#define VYRE_SHA256_H

#include <stddef.h>
#include <stdint.h>

// SHA-256 of `size` bytes.
void vy_sha256(const void *data, size_t size, uint8_t digest[32]);

#endif

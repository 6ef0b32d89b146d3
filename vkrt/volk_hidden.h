// SPDX-License-Identifier: MIT
// volk's variables are named like Vulkan's functions.  Visible in a shared library they would stand
// in for the real functions of everything else in the process, so they are always declared hidden.
#ifndef VYRE_VKRT_VOLK_HIDDEN_H
#define VYRE_VKRT_VOLK_HIDDEN_H

#pragma GCC visibility push(hidden)
#include <volk.h>
#pragma GCC visibility pop

#endif

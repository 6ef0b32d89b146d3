// SPDX-License-Identifier: MIT
// all.h: everything for programs in C.  It is installed as vyre.h, directly in the folder vyre.
#ifndef VYRE_ALL_H
#define VYRE_ALL_H

#include "autodiff/explain.h"
#include "autodiff/grad.h"
#include "ir/pipeline.h"
#include "ir/vyre.h"
#include "session/check.h"
#include "session/fit.h"
#include "session/load.h"
#include "session/session.h"
#include "spirv/read.h"
#include "spirv/spirv.h"

#endif

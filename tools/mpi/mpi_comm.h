// SPDX-License-Identifier: MIT
// mpi_comm.h: what the module vyre-mpi.so has, by name.
#ifndef VYRE_TOOL_MPI_COMM_H
#define VYRE_TOOL_MPI_COMM_H

#include "session/comm.h"

// Begins MPI; NULL, or why it fails.
VYS_API const char *vyre_comm_open(vys_comm *out);
VYS_API void vyre_comm_close(vys_comm *c); // ends MPI

#endif

// SPDX-License-Identifier: MIT
// probe.h: asks a driver, in a child process, what it makes of kernels.
//
// Drivers end the process where a chip lacks a feature, and selecting a driver requires
// environment variables that are set before Vulkan is opened: both are confined to the child.
#ifndef VYRE_TOOL_PROBE_H
#define VYRE_TOOL_PROBE_H

#include "tools/data/tool.h"

#include "vkrt/vkrt.h"
#include "spirv/kernel.h"

// Which driver.  All NULL: the one that the environment selects.
typedef struct driver_choice {
    char *file;      // of the driver, for VK_DRIVER_FILES
    char *libraries; // folder with libraries that it needs and the system lacks
    char *chip;      // for RADV without hardware: RADV_FORCE_FAMILY
} driver_choice;

// The argument of --driver: a driver's name, PATH of its .json, an AMD chip, or RADV'S NAME:CHIP.
// NULL: none.  False with *d: there is no such driver.  driver_free in every case.
bool driver_find(const char *wanted, driver_choice *out, vy_diag *d);
void driver_free(driver_choice *choice);

typedef struct probe_job { // an entry point; nothing is owned
    const char *name, *entry;
    const uint32_t *words;
    size_t word_count;
    vy_features needs;
} probe_job;

typedef struct probe_result {
    vkrt_status status;
    vkrt_error error;            // unless status is OK
    vkrt_inspection *inspection; // if it is
} probe_result;

typedef struct probe {
    char device[256], driver[512]; // as in vkrt_device_info
    probe_result *results;         // one per job
    uint32_t count, messages;      // messages: of the validation layers, which went to stderr
} probe;

// Inspects every job; one on which the driver ends the process has an error (DRIVER), and the
// others are still inspected.  `device`: as in vkrt_device_desc.  `seconds`: limit for one kernel,
// after which the child is killed; 0: no limit.  False with *d: the device cannot be opened,
// memory.  probe_free in every case.
bool probe_run(probe *p, const driver_choice *choice, const char *device, const probe_job *jobs,
               uint32_t count, uint64_t seconds, vy_diag *d);
void probe_free(probe *p);

#endif

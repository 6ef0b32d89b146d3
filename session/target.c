// SPDX-License-Identifier: MIT
// target.c: see target.h.
#include "session/target.h"

#include "session/internal.h"

#include <stdlib.h>
#include <string.h>

// A GPU's cores wait for workgroups that end at once (ir/pass/target/workgroup_shape.c).
#define GPU_WORKGROUP 256

enum {
    GPU_ELEMENTS = 64,       // of its domain that an invocation computes at most: 8 × 8
    GPU_INVOCATIONS = 65536, // … as long as it keeps that many
    GPU_CARRIED = 72,        // values that a loop carries at most
    // Rows that a workgroup each walks together, at most: more of them fill the device with an
    // invocation each.
    GPU_ROWS = 16384,
};

static uint32_t suitable_workgroup(const vkrt_device_info *info)
{
    if (strcmp(info->type, "CPU") == 0) return 0;
    const uint32_t x = info->max_workgroup_size[0], all = info->max_workgroup_invocations;
    const uint32_t most = x < all ? x : all;
    return most < GPU_WORKGROUP ? most : GPU_WORKGROUP;
}

vys_facts vys_facts_of(const vkrt_device *device)
{
    if (!device) return (vys_facts){0};
    const vkrt_device_info *info = vkrt_device_get_info(device);
    return (vys_facts){.known = true,
                       .cpu = strcmp(info->type, "CPU") == 0,
                       .loop_iteration_limit = info->loop_iteration_limit,
                       .subgroup_size = info->subgroup_size,
                       .driver_id = info->driver_id,
                       .driver_major = info->driver_major,
                       .workgroup = suitable_workgroup(info),
                       .features = vkrt_device_features(device)};
}

// ------------------------------------------------------------------------------------------ checks
bool vys_order_check(const char *name, uint64_t order, vy_diag *d)
{
    return (order >= 1 && order <= VYS_MOST_ORDER) ||
           vys_fail(d, VYS_USAGE, "differentiate less often", "%s is 1 to %d", name,
                    VYS_MOST_ORDER);
}

bool vys_subgroup_size_check(const char *name, uint64_t size, vy_diag *d)
{
    return (size <= 128 && !(size & (size - 1))) ||
           vys_fail(d, VYS_USAGE, "choose 1, 2, 4, … 128", "%s is a power of two, at most 128",
                    name);
}

bool vys_settings_check(const vys_settings *settings, vy_diag *d)
{
    vys_settings taken;
    if (!vys_take(&taken, sizeof taken, settings, "vys_settings", d)) return false;
    const vys_settings *s = &taken;
    const struct {
        const char *name;
        unsigned value, last;
    } choices[] = {{"accumulate", s->accumulate, VY_ACCUMULATE_GATHER},
                   {"keep", s->keep, VYS_KEEP_SQRT},
                   {"level", s->level, VYS_O3},
                   {"target", s->target, VY_VULKAN_1_3},
                   {"driver", s->driver, VY_DRIVER_COUNT - 1}};
    for (size_t i = 0; i < COUNT_OF(choices); i++)
        if (choices[i].value > choices[i].last)
            return vys_fail(d, VYS_USAGE, "choose one of the enumeration's values",
                            "%s has no value %u", choices[i].name, choices[i].value);
    if (s->precise && s->fast_math)
        return vys_fail(d, VYS_USAGE, "give one of them", "precise and fast_math contradict");
    if (s->forward && s->order > 1)
        return vys_fail(d, VYS_USAGE, "differentiate once", "forward mode takes order 1 only");
    return (!s->order || vys_order_check("order", s->order, d)) &&
           vys_subgroup_size_check("subgroup_size", s->subgroup_size, d);
}

// ----------------------------------------------------------------------------------------- options
// Written for a GPU, whatever its sizes.
static bool is_for_gpu(const vys_settings *s, const vys_facts *f)
{
    return !f->known && s->driver == VY_DRIVER_GPU;
}

// A device that is none gets the same code where that is asked for, as tests do.
static bool runs_as_on_gpu(const vys_settings *s, const vys_facts *f)
{
    return (f->known && !f->cpu) || s->driver == VY_DRIVER_GPU;
}

// What asks for Vulkan's validation layers asks for our validator, too.
static bool everything_is_validated(const vys_settings *s)
{
    const char *wanted = getenv("VYRE_VALIDATION");
    return s->validate_always || (wanted && wanted[0] && strcmp(wanted, "0"));
}

vy_spirv_options vys_spirv_options(const vys_facts *facts, const vys_settings *s)
{
    const vy_quirks quirks = facts->driver_id
                                 ? vy_device_quirks(facts->driver_id, facts->driver_major)
                                 : vy_driver_quirks(s->driver);
    return (vy_spirv_options){.target = s->target,
                              .precise = s->precise,
                              .fast_math = s->fast_math,
                              .unchecked = s->unchecked,
                              .lines = s->lines,
                              .validate = !s->no_validate,
                              .validation_limit =
                                  everything_is_validated(s) ? 0 : VY_VALIDATION_LIMIT,
                              .enabled = s->enabled | facts->features,
                              .spared = VY_QUIRKS_ALL & ~quirks,
                              .combine_additions = runs_as_on_gpu(s, facts),
                              .watch_loops = facts->loop_iteration_limit != 0,
                              .lanes = facts->loop_iteration_limit ? facts->subgroup_size : 0};
}

void vys_step(const vys_settings *s, const char *what)
{
    if (s->step) s->step(s->user, what);
}

// Chunked loops take twice the time where loops are short, so they are not used where the
// iterations stay below half the limit.
static bool stays_below_limit(void *user, const vy_program *p)
{
    const vys_asked *asked = user;
    bool complete;
    if (!asked->data) return false;
    const vys_launch values = vys_binding_values(asked->data);
    const uint64_t most = vys_entry_program_iterations(asked->data->what, p, &values, &complete);
    return complete && most <= asked->facts->loop_iteration_limit / 2;
}

// Iterations per chunk: more where eight are not enough for the sizes at hand.
static uint32_t chunk(const vys_asked *asked)
{
    enum { LEAST = 8, MOST = 64 };
    uint32_t n = LEAST;
    const vy_program *worst;
    bool complete;
    if (!asked->facts->loop_iteration_limit) return 0;
    if (!asked->data) return n;
    const vys_launch values = vys_binding_values(asked->data);
    const uint64_t iterations = vys_entry_iterations(asked->data->what, &values, &worst, &complete);
    while (n < MOST && iterations / n > asked->facts->loop_iteration_limit / 2) n *= 2;
    return n;
}

// At launch; −1 if only the run decides it.  Such a domain may be short, and stays as it is.
static int64_t extent_at_launch(void *user, const vy_program *p, uint32_t axis)
{
    const vys_asked *asked = user;
    const vys_launch values = vys_binding_values(asked->data);
    const int64_t n = vys_entry_extent(asked->data->what, p, axis, &values);
    return n < 0 ? 1 : n;
}

static int64_t number_at_launch(void *user, const vy_program *p, vy_dim d)
{
    const vys_asked *asked = user;
    const vys_launch values = vys_binding_values(asked->data);
    return vys_entry_number(asked->data->what, p, d, &values);
}

// Of the launches that it is written for.
static int64_t extent_as_told(void *user, const vy_program *p, uint32_t axis)
{
    const vys_asked *asked = user;
    return vys_tuned_number(asked->settings, p, vy_program_over(p, axis).extent);
}

static int64_t number_as_told(void *user, const vy_program *p, vy_dim d)
{
    return vys_tuned_number(((const vys_asked *)user)->settings, p, d);
}

// For a driver that runs lanes on a CPU: that of the device, or the one that it is written for.
static bool is_for_cpu(const vys_settings *s, const vys_facts *f)
{
    return f->known ? f->cpu : s->driver == VY_DRIVER_LAVAPIPE;
}

// Blocks of neighbours are for what loads four words at once, and has registers for 8 × 8 sums.
static void choose_places(const vys_asked *asked, vy_opt_options *opt)
{
    const vys_facts *f = asked->facts;
    const bool gpu = runs_as_on_gpu(asked->settings, f);
    opt->uniform_starts = gpu;
    opt->adjacent = opt->coarsen > 1 && gpu;
    if (opt->adjacent) opt->carried = GPU_CARRIED;
}

// Elements of a domain that one invocation may compute; measured on lavapipe, where the only limit
// is the number of registers.  GPUs hide latency with invocations, so they keep more of them, and
// registers for those; a CPU has a cache in which what does not fit into registers stays.
static void choose_sizes(const vys_asked *asked, vy_opt_options *opt)
{
    const vys_facts *f = asked->facts;
    opt->coarsen = asked->settings->coarsen;
    opt->carried = f->known && f->cpu ? 256 : 0;
    if (asked->data) opt->extent = extent_at_launch, opt->workgroup = f->workgroup;
    if (asked->data && f->known) opt->number = number_at_launch;
    if (!asked->data && asked->settings->tune_count)
        opt->extent = extent_as_told, opt->number = number_as_told;
    if (opt->number && runs_as_on_gpu(asked->settings, f)) opt->rows = GPU_ROWS;
    if (!opt->coarsen && is_for_gpu(asked->settings, f)) {
        opt->coarsen = GPU_ELEMENTS;
        if (opt->extent) opt->invocations = GPU_INVOCATIONS;
    }
    if (!opt->coarsen && f->known && asked->data) {
        opt->coarsen = f->cpu ? 40 : GPU_ELEMENTS;
        opt->invocations = f->cpu ? 256 : GPU_INVOCATIONS;
    }
    choose_places(asked, opt);
}

static void dump(void *user, const char *pass, const char *text)
{
    const vys_settings *s = ((const vys_asked *)user)->settings;
    if (s->dump) s->dump(s->user, pass, text);
}

vy_opt_options vys_opt_options(const vys_asked *asked, bool final)
{
    const vys_settings *s = asked->settings;
    const vys_facts *f = asked->facts;
    const bool eval = s->interpreter; // its programs stay exact and guarded
    const vy_features have = eval ? 0 : s->enabled | f->features;
    const bool counted = !eval && f->loop_iteration_limit;
    vy_opt_options opt = {.level = s->level ? (int)s->level - 1 : 2,
                          .subgroup_add = have & VY_FEATURE_BIT(SUBGROUP_ARITHMETIC),
                          .subgroup_shuffle = have & VY_FEATURE_BIT(SUBGROUP_SHUFFLE),
                          .workgroup_sums = !eval && f->workgroup,
                          .subgroup_size = !eval && f->cpu ? f->subgroup_size : 0,
                          .subgroup_types = have & VY_FEATURE_BIT(SUBGROUP_EXTENDED_TYPES),
                          .by_invocation = !eval && is_for_cpu(s, f),
                          .registers = (f->known || is_for_gpu(s, f)) && !eval,
                          .chunk = counted ? chunk(asked) : 0,
                          .few_iterations = counted ? stays_below_limit : NULL,
                          .lanes = counted ? f->subgroup_size : 0,
                          .fast_math = s->fast_math && !eval,
                          .precise = s->precise,
                          .unchecked = s->unchecked && !eval,
                          .final = final && !eval,
                          .dump_after = s->dump_after,
                          .dump = dump,
                          .user = (void *)asked};
    if (!eval) {
        choose_sizes(asked, &opt);
    } else {
        opt.coarsen = s->coarsen;
        choose_places(asked, &opt);
        if (asked->data) opt.extent = extent_at_launch;
    }
    return opt;
}

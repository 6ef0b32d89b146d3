// SPDX-License-Identifier: MIT
// gather.c: gather.h, the driver.
//
//   program f_grad over(i: M, j: N)             pipeline f_grad {
//       for k in rev(0..K) {                        f_gather_b(a, grad_c, grad_b);    over(k: K, j: N)
//           atomic_add(grad_b[k, j], …);     →      f_gather_a(b, grad_c, grad_a);    over(i: M, k: K)
//           atomic_add(grad_a[i, k], …);        }
//       }
//
//   1. which buffers: results that the reverse program only adds to, and not all of them its own
//   2. each place that adds: can it be had, and how (gather_site.c)
//   3. programs: one for the places of a buffer whose elements are named by the same axes; buffers that are
//      added to at the same points share one
//   4. the rest of the reverse program runs first: it fills what the gathers read
//
// A buffer some of whose places cannot be gathered is added to atomically first, and by its gather then.
#include "gather_build.h"

#include "stages.h"

#include <stdio.h>
#include <string.h>

enum { MAX_WORK = 1 << 26 }; // places × instructions

// ---------------------------------------------------------------------------------------------- tables
static bool is_plain(const vy_program *p)
{
    if (!p->overs.count) return false;
    for (uint32_t i = 1; i < p->buffers.count; i++)
        if (p->buffers.data[i].view_of) return false;
    for (uint32_t id = 1; id < p->insts.count; id++)
        if (vy_op_infos[p->insts.data[id].op].effect == VY_CONV) return false;
    return true;
}

static bool make_tables(gather *g)
{
    const vy_program *p = g->r;
    g->last_write = vy_arena_alloc(&g->arena, p->buffers.count * sizeof *g->last_write);
    g->outer = vy_arena_alloc(&g->arena, (size_t)p->insts.count * sizeof *g->outer);
    g->keep = vy_arena_alloc(&g->arena, (size_t)p->insts.count * sizeof *g->keep);
    if (!g->last_write || !g->outer || !g->keep || !vy_structure_make(p, &g->s)) return false;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_inst *i = &p->insts.data[id];
        uint32_t up = g->s.parent[id];
        g->outer[id] = up ? g->outer[up] : 0;
        if (up && !g->outer[up] && vy_is_loop((vy_op)p->insts.data[up].op)) g->outer[id] = up;
        if (vy_op_is_memory((vy_op)i->op) && i->op != VY_OP_LOAD) g->last_write[i->aux] = id;
    }
    return true;
}

static bool find_sites(gather *g)
{
    const vy_program *p = g->r;
    uint8_t *candidate = vy_arena_alloc(&g->arena, p->buffers.count);
    if (!candidate) return false;
    for (uint32_t i = 1; i < p->buffers.count; i++) candidate[i] = gather_is_candidate(g, i);
    for (int pass = 0; pass < 2; pass++) {
        uint32_t n = 0;
        for (uint32_t id = 1; id < p->insts.count; id++) {
            const vy_inst *i = &p->insts.data[id];
            if (i->op != VY_OP_ATOMIC_ADD || !candidate[i->aux]) continue;
            if (pass) g->sites[n].id = id, g->sites[n].access.buffer = i->aux;
            n++;
        }
        g->site_count = n;
        if (!pass) g->sites = vy_arena_alloc(&g->arena, (n + 1) * sizeof *g->sites);
        if (!g->sites) {
            g->site_count = 0;
            return false;
        }
    }
    if ((uint64_t)g->site_count * p->insts.count > MAX_WORK) g->site_count = 0;
    g->fixed = vy_arena_alloc(&g->arena, p->buffers.count * sizeof *g->fixed);
    for (uint32_t i = 1; g->fixed && i < p->buffers.count; i++)
        if (candidate[i]) g->fixed[i] = gather_fixed_axes(g, i);
    return g->fixed != NULL;
}

// -------------------------------------------------------------------------------------------- programs
static bool same_extents(const gather *g, const gather_site *x, const gather_site *y)
{
    uint32_t a = 0, b = 0;
    for (;; a++, b++) {
        while (a < x->access.rank && !(x->axes >> a & 1)) a++;
        while (b < y->access.rank && !(y->axes >> b & 1)) b++;
        if (a == x->access.rank || b == y->access.rank)
            return a == x->access.rank && b == y->access.rank;
        vy_extent e = g->a.facts.form[x->access.dim[a].id],
                  f = g->a.facts.form[y->access.dim[b].id];
        if (e.base != f.base || e.offset != f.offset) return false;
    }
}

// Elements of one buffer, named by the same axes?
static bool same_elements(const gather *g, const gather_site *x, const gather_site *y)
{
    return x->access.buffer == y->access.buffer && x->axes == y->axes && x->single == y->single &&
           x->access.flat == y->access.flat && same_extents(g, x, y);
}

// A site of program `program` that is added at the points at which `site` is.
static bool has_partner(const gather *g, uint32_t program, const gather_site *site)
{
    for (uint32_t k = 0; k < g->site_count; k++) {
        const gather_site *x = &g->sites[k];
        const vy_nest *n = &x->access.nest, *m = &site->access.nest;
        if (x->program != program || x->single != site->single || n->count != m->count) continue;
        if (!same_extents(g, x, site)) continue;
        bool same = true;
        for (uint32_t j = 0; j < n->count; j++) same &= n->loop[j] == m->loop[j];
        if (same && isl_map_is_equal(x->map, site->map) == isl_bool_true) return true;
    }
    return false;
}

// Moves the sites of program `from` to program `to` if each of them finds a partner there.
static bool fuse(gather *g, uint32_t to, uint32_t from)
{
    if (g->programs[to - 1].adds != g->programs[from - 1].adds) return false;
    for (uint32_t k = 0; k < g->site_count; k++)
        if (g->sites[k].program == from && !has_partner(g, to, &g->sites[k])) return false;
    for (uint32_t k = 0; k < g->site_count; k++)
        if (g->sites[k].program == from) g->sites[k].program = to;
    g->programs[from - 1].sites = 0;
    return true;
}

// Is the buffer also added to before program k?
static bool is_begun(const gather *g, uint32_t k)
{
    uint32_t buffer = g->sites[g->programs[k].first].access.buffer;
    for (uint32_t j = 0; j < g->site_count; j++)
        if (g->sites[j].access.buffer == buffer &&
            (!g->sites[j].gathered || g->sites[j].program < k + 1))
            return true;
    return false;
}

// Is another of the programs, which are not the module's yet, called so?
static bool has_name(const gather *g, const gather_program *q, const char *name)
{
    for (uint32_t k = 0; k < g->program_count; k++) {
        const gather_program *other = &g->programs[k];
        if (other != q && other->name && strcmp(other->name, name) == 0) return true;
        if (other->tree && strcmp(other->tree, name) == 0) return true;
    }
    return false;
}

static bool name_program(gather *g, gather_program *q, uint32_t number)
{
    char text[90] = "gather";
    size_t n = strlen(text);
    uint32_t last = 0;
    for (uint32_t k = 0; k < g->site_count; k++) {
        const char *name = g->r->buffers.data[g->sites[k].access.buffer].name;
        if (g->sites[k].program != number || g->sites[k].access.buffer == last) continue;
        last = g->sites[k].access.buffer;
        const char *of = strncmp(name, "grad", 4) == 0 ? strchr(name, '_') : NULL;
        if (n < 60) n += (size_t)snprintf(text + n, sizeof text - n, "_%.20s", of ? of + 1 : name);
    }
    q->name = vy_stage_name(g->m, g->r->name, text);
    for (uint32_t k = 2; q->name && has_name(g, q, q->name); k++) {
        snprintf(text + n, sizeof text - n, "_%u", k);
        q->name = vy_stage_name(g->m, g->r->name, text);
    }
    return q->name != NULL;
}

// Operations of one invocation of the reverse program but for atomic additions.
static double whole_cost(const gather *g)
{
    double sum = 0;
    for (uint32_t id = 1; id < g->r->insts.count; id++) {
        double w = g->r->insts.data[id].op == VY_OP_ATOMIC_ADD ? 0 : gather_weight(g, id);
        for (uint32_t up = g->s.parent[id]; up && w > 0; up = g->s.parent[up])
            if (vy_is_loop((vy_op)g->r->insts.data[up].op)) w *= gather_trips(g, up);
        sum += w;
    }
    return sum;
}

// What the atomic additions of a program would cost one invocation.  Where the index is the same in all of
// them a subgroup adds up first (ir/reduce.c); else lanes add one by one.
static double atomic_cost(const gather *g, uint32_t number)
{
    enum { ALIKE = 8, SPREAD = 100 }; // measured on lavapipe: 9 ns each, against lanes by eights
    double sum = 0;
    for (uint32_t k = 0; k < g->site_count; k++) {
        const gather_site *site = &g->sites[k];
        const vy_access *x = &site->access;
        if (site->program != number) continue;
        bool spread = false;
        for (uint32_t a = 0; a < x->rank; a++)
            spread |= x->index[a] && isl_pw_aff_involves_dims(x->index[a], isl_dim_in, 0,
                                                              x->nest.overs) == isl_bool_true;
        double w = spread ? SPREAD : ALIKE;
        for (uint32_t up = g->s.parent[site->id]; up; up = g->s.parent[up])
            if (vy_is_loop((vy_op)g->r->insts.data[up].op)) w *= gather_trips(g, up);
        sum += w;
    }
    return sum;
}

// The sites of one walk cost as much as the dearest of them: they share what they are made of.
static double program_cost(const gather *g, uint32_t number)
{
    double sum = 0;
    for (uint32_t k = 0; k < g->site_count; k++) {
        const gather_site *site = &g->sites[k];
        const vy_nest *n = &site->access.nest;
        bool shared = false;
        if (site->program != number) continue;
        for (uint32_t j = 0; j < k && !shared; j++)
            shared = g->sites[j].program == number &&
                     g->s.parent[g->sites[j].id] == g->s.parent[site->id];
        double w = shared ? 1 : site->cost;
        for (uint32_t j = n->overs; j < n->count; j++) w *= gather_trips(g, n->loop[j]);
        sum += w;
    }
    return sum;
}

// Are the reverse program's additions all it does, and all of them gathered?  Then nothing of it is left.
static bool nothing_stays(const gather *g)
{
    uint32_t gathered = 0, writes = 0;
    for (uint32_t k = 0; k < g->site_count; k++) gathered += g->sites[k].gathered;
    for (uint32_t id = 1; id < g->r->insts.count; id++)
        writes += vy_op_infos[g->r->insts.data[id].op].effect == VY_WRITE;
    return gathered == writes;
}

// Takes back programs that cost more than what they save.  True: there were some.
static bool leave_dear(gather *g)
{
    enum { TOO_MUCH = 64 }; // times the whole, where sums have to have an order
    double whole = whole_cost(g), saved = nothing_stays(g) ? whole : 0;
    bool any = false;
    for (uint32_t k = 0; k < g->site_count; k++) {
        gather_site *site = &g->sites[k];
        if (!site->program) continue;
        double limit = g->always ? TOO_MUCH * whole : atomic_cost(g, site->program) + saved;
        if (program_cost(g, site->program) <= limit) continue;
        site->gathered = false;
        site->why = "would cost more to gather than to add";
        any = true;
    }
    return any;
}

static bool make_programs(gather *g)
{
    g->program_count = 0;
    for (uint32_t k = 0; k < g->site_count; k++) g->sites[k].program = 0;
    for (uint32_t k = 0; k < g->site_count; k++) {
        gather_site *site = &g->sites[k];
        if (!site->gathered) continue;
        for (uint32_t j = 0; j < k && !site->program; j++)
            if (g->sites[j].program && same_elements(g, &g->sites[j], site))
                site->program = g->sites[j].program;
        if (!site->program) {
            g->programs[g->program_count++] = (gather_program){.first = k};
            site->program = g->program_count;
        }
        g->programs[site->program - 1].sites++;
    }
    for (uint32_t k = 0; k < g->program_count; k++) g->programs[k].adds = is_begun(g, k);
    for (uint32_t k = 0; k < g->program_count; k++)
        for (uint32_t j = 0; j < g->program_count; j++)
            if (j != k && g->programs[j].sites && g->programs[k].sites && fuse(g, j + 1, k + 1))
                break;
    for (uint32_t k = 0; k < g->program_count; k++) {
        if (!g->programs[k].sites) continue;
        for (uint32_t j = 0; j < g->site_count; j++)
            g->programs[k].few |= g->sites[j].program == k + 1 && g->sites[j].few;
        if (!name_program(g, &g->programs[k], k + 1)) return false;
    }
    return true;
}

// ---------------------------------------------------------------------------------------------- stages
static void free_stages(vy_program **stages, uint32_t count)
{
    for (uint32_t k = 0; k < count; k++) vy_program_free(stages[k]);
}

// Names the form for few elements, if there is one: as the other with `_few` behind it, or alone as the other.
static bool name_tree(gather *g, uint32_t k, const gather_stage *last)
{
    gather_program *q = &g->programs[k];
    char text[340];
    if (!last->tree) return true;
    q->tree = q->name;
    if (!last->turns.id) return true;
    for (uint32_t number = 1;; number++) {
        int n = snprintf(text, sizeof text, "%.300s_few", q->name);
        if (number > 1) snprintf(text + n, sizeof text - (size_t)n, "%u", number);
        bool taken = vy_module_find(g->m, text) || vy_module_find_pipeline(g->m, text);
        if (!taken && !has_name(g, q, text)) break;
    }
    q->tree = vy_arena_strdup(&g->m->arena, text, strlen(text));
    return q->tree != NULL;
}

// The gather programs; those that cannot be made lose their sites.  False: some have, or memory.
static bool make_stages(gather *g, vy_program **stages, uint32_t *count)
{
    *count = 0;
    for (uint32_t k = 0; k < g->program_count; k++) {
        if (!g->programs[k].sites) continue;
        uint32_t made = gather_make_forms(g, k, stages + *count, g->stages + *count);
        *count += made;
        g->failed |= made && !name_tree(g, k, &g->stages[*count - 1]);
        if (made && !g->failed) continue;
        for (uint32_t j = 0; j < g->site_count; j++) {
            if (g->sites[j].program != k + 1) continue;
            g->sites[j].gathered = false;
            g->sites[j].why = g->programs[k].few ? "has few elements, to which many add"
                                                 : "could wrap around in its inverse";
        }
        free_stages(stages, *count);
        return false;
    }
    return true;
}

static bool any_gathered(const gather *g)
{
    for (uint32_t k = 0; k < g->site_count; k++)
        if (g->sites[k].gathered) return true;
    return false;
}

// The last word on kept values: those that only refused sites asked for are not kept.
static void forget_kept(gather *g)
{
    for (uint32_t k = 0; k < g->kept.count; k++) {
        uint32_t id = g->kept.data[k].id;
        bool wanted = false;
        for (uint32_t j = 0; j < g->site_count && !wanted; j++)
            wanted = g->sites[j].gathered && g->sites[j].need[id];
        g->kept.data[k].wanted = wanted;
    }
}

static bool trim(gather *g, vy_program **stages, uint32_t count, bool whole)
{
    for (uint32_t k = 0; k < count; k++)
        if (!gather_trim(g, &g->stages[k], stages[k], whole)) return false;
    return true;
}

// Puts `count` stages, `first` of which is the rest of the reverse program or a gather, in its place.
static bool put(gather *g, vy_program **stages, uint32_t count, bool rest)
{
    vy_dim *turns = vy_arena_alloc(&g->arena, (count + 1) * sizeof *turns);
    for (uint32_t k = rest; turns && k < count; k++) turns[k] = g->stages[k - rest].turns;
    if (turns) return vy_stages_replace_some(g->m, g->r, stages, turns, count);
    free_stages(stages, count);
    return false;
}

static bool replace(gather *g, vy_program **stages, uint32_t count)
{
    bool empty;
    forget_kept(g);
    vy_program *rest = gather_rest(g, stages + 1, count, &empty);
    if (!rest) {
        free_stages(stages + 1, count);
        return false;
    }
    // One program may be all there is: it has the parameters of the whole.
    bool whole = empty && count == 1 && !g->m->pipelines.count;
    bool ok = trim(g, stages + 1, count, whole);
    if (!empty && ok) {
        bool last = g->m->pipelines.count > 0; // it has taken the name already
        rest->name = last ? g->r->name : vy_stage_name(g->m, g->r->name, "reverse");
        ok = rest->name != NULL;
    }
    if (empty || !ok) vy_program_free(rest);
    if (!ok) {
        free_stages(stages + 1, count);
        return false;
    }
    if (whole) {
        for (uint32_t k = 0; k < g->program_count; k++) {
            g->programs[k].name = g->r->name;
            if (g->programs[k].tree) g->programs[k].tree = g->r->name;
        }
        vy_program_replace(g->r, stages[1]);
        return true;
    }
    if (empty) return put(g, stages + 1, count, false);
    stages[0] = rest;
    return put(g, stages, count + 1, true);
}

static uint32_t ones(uint32_t bits)
{
    uint32_t n = 0;
    for (; bits; bits &= bits - 1) n++;
    return n;
}

// Beside additions that stay atomic, a gather is worth a program of its own only where it sums.
static void leave_singles(gather *g)
{
    for (uint32_t k = 0; k < g->site_count; k++) {
        gather_site *site = &g->sites[k];
        bool beside = false;
        for (uint32_t j = 0; j < g->site_count; j++)
            beside |= !g->sites[j].gathered && !g->sites[j].joins &&
                      g->sites[j].access.buffer == site->access.buffer;
        site->joins = site->gathered && beside && site->access.nest.count <= ones(site->axes);
    }
    for (uint32_t k = 0; k < g->site_count; k++) {
        if (!g->sites[k].joins) continue;
        g->sites[k].gathered = false;
        g->sites[k].why = "comes beside one that is not";
    }
}

static bool take_apart(gather *g, vy_gather_notes *notes)
{
    vy_program **stages = vy_arena_alloc(&g->arena, (2 * g->site_count + 2) * sizeof *stages);
    g->stages = vy_arena_alloc(&g->arena, (2 * g->site_count + 2) * sizeof *g->stages);
    g->programs = vy_arena_alloc(&g->arena, (g->site_count + 1) * sizeof *g->programs);
    if (!stages || !g->stages || !g->programs) return false;
    for (uint32_t k = 0; k < g->site_count && !g->failed; k++) {
        gather_decide(g, k);
        if (notes && g->sites[k].map)
            g->sites[k].text = vy_access_text(&g->sites[k].access, notes->arena);
    }
    leave_singles(g);
    uint32_t count = 0;
    do {
        do {
            if (g->failed || !make_programs(g)) return false;
        } while (leave_dear(g));
        if (!any_gathered(g)) return true;
    } while (!make_stages(g, stages + 1, &count));
    return replace(g, stages, count);
}

// ------------------------------------------------------------------------------------------- the notes
static bool take_notes(const gather *g, const vy_program *r, vy_gather_notes *notes)
{
    for (uint32_t k = 0; k < g->site_count; k++) {
        const gather_site *site = &g->sites[k];
        vy_gather_note *n = NULL;
        const char *name = r->buffers.data[site->access.buffer].name;
        for (uint32_t j = 0; j < notes->notes.count; j++)
            if (strcmp(notes->notes.data[j].buffer, name) == 0) n = &notes->notes.data[j];
        if (!n) {
            vy_gather_note fresh = {.buffer = vy_arena_strdup(notes->arena, name, strlen(name))};
            if (!fresh.buffer || !vy_vec_push(&notes->notes, fresh)) return false;
            n = &notes->notes.data[notes->notes.count - 1];
        }
        n->sites++;
        n->gathered += site->gathered;
        if (!n->map) n->map = site->text;
        if (!n->program && site->gathered) {
            const gather_program *q = &g->programs[site->program - 1];
            n->program = vy_arena_strdup(notes->arena, q->name, strlen(q->name));
            if (q->tree) n->tree = vy_arena_strdup(notes->arena, q->tree, strlen(q->tree));
        }
        if (!site->gathered && !n->why) n->why = site->why, n->line = r->insts.data[site->id].line;
    }
    return true;
}

static void clean_up(gather *g)
{
    for (uint32_t k = 0; k < g->site_count; k++) {
        vy_access_free(&g->sites[k].access);
        isl_map_free(g->sites[k].map);
    }
    if (g->affine) vy_affine_end(&g->a);
    vy_structure_free(&g->s);
    vy_vec_free(&g->kept);
    vy_arena_free(&g->arena);
}

bool vy_gather(vy_module *m, vy_program *whole, const vy_gather_options *o, vy_gather_notes *notes)
{
    gather g = {.m = m, .r = whole, .lean = o->lean, .always = o->always, .few = o->few};
    if (!is_plain(whole)) return true;
    bool ok = make_tables(&g) && find_sites(&g);
    if (ok && g.site_count) {
        g.affine = true;
        vy_program *kept = notes ? vy_program_clone(whole, m) : NULL; // `whole` goes
        ok = vy_affine_begin(&g.a, whole, &g.s) && take_apart(&g, notes);
        if (ok && notes) ok = kept && take_notes(&g, kept, notes);
        vy_program_free(kept);
    }
    clean_up(&g);
    if (!ok && vy_module_ok(m)) vy_fail_oom(m);
    return ok;
}

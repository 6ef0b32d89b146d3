// SPDX-License-Identifier: MIT
// gradcheck_directives.h: the directives in the comments of a text, and the data it is run on; part
// of gradcheck_file.c, which lists them.
enum { MOST_NAMES = 16, MOST_LAUNCHES = 4, MOST_VALUES = 256 };

typedef struct job_launch { // sizes to run at, and the data for them
    gradcheck_scalar scalars[MOST_NAMES];
    int64_t integers[MOST_NAMES];
    uint32_t groups[3];
    image x, g; // the inputs; what the default way to the gradient leaves
    bool of[MOST_BUFFERS];
} job_launch;

typedef struct job {
    gradcheck c;
    char *text, *words; // `words` holds what c points to
    double values[MOST_NAMES][MOST_VALUES];
    const char *permutations[MOST_NAMES];
    job_launch launches[MOST_LAUNCHES];
    uint32_t launch_count;
    uint32_t pick, picks; // which variant is next; see alternate()
    bool thorough;        // all variants, none alternating
    bool brief;           // the types as written: primal, value and gradient
    bool ways_only;       // check that the ways agree, and nothing else
    bool tangents;        // check forward mode, and nothing else
    bool third_only;      // check third derivatives, and nothing else
    const char *oracle;   // what failed
    double tolerance;     // bound of comparisons between levels
    uint32_t compared, kinks, unreliable, unordered; // unordered: no deterministic gradient made
    char notes[600];     // ways that were refused where others were not: ` | WAY refused CODE …`
    uint32_t forwards;   // programs derived forwards
    uint32_t transposed; // of these, whose gradient was compared with the program's
    uint32_t seconds;    // gradients of gradients that were compared
    uint32_t mixed;      // forward derivatives of gradients, and gradients of forward derivatives
    uint32_t thirds;     // third derivatives that were compared
    uint32_t ways, axes; // other ways to the gradient that agreed; those among them with other axes
    bool gathered, atomic, plain, ordered; // how gradients were added up in them
} job;

static vy_eval_options launch; // groups and subgroup size of the launch being checked

static bool fail(job *j, const char *oracle) // `message` is set
{
    j->oracle = stays_in_range && left_range ? "range" : oracle;
    return false;
}

// One of 0 … n−1, different for each program and call: what there is no time to try on every
// program is tried on every nth.
static uint32_t alternate(job *j, uint32_t n)
{
    uint64_t s = j->pick * 2654435761u + 977u * ++j->picks;
    return (uint32_t)(next_random(&s) % n);
}

// The rest of line number `which` that starts with `// name: `, terminated, or NULL.
static char *directive_at(job *j, const char *name, uint32_t which)
{
    char start[40];
    snprintf(start, sizeof start, "// %s: ", name);
    const char *at = strstr(j->text, start);
    while (at && which--) at = strstr(at + 1, start);
    if (!at) return NULL;
    at += strlen(start);
    char *word = j->words + (at - j->text);
    memcpy(word, at, strcspn(at, "\n"));
    return word;
}

static char *directive(job *j, const char *name) { return directive_at(j, name, 0); }

static void read_list(job *j, const char *name, const char *out[MOST_NAMES])
{
    char *s = directive(j, name), *save = NULL;
    uint32_t n = 0;
    for (char *w = s ? strtok_r(s, ",", &save) : NULL; w && n < MOST_NAMES;
         w = strtok_r(NULL, ",", &save))
        out[n++] = w;
}

// `N=5 s=0.7 groups=2,1,1`
static void read_launch(job_launch *l, char *s)
{
    char *save = NULL;
    uint32_t n = 0;
    for (char *w = s ? strtok_r(s, " ", &save) : NULL; w && n < MOST_NAMES;
         w = strtok_r(NULL, " ", &save)) {
        char *is = strchr(w, '='), *end;
        if (!is) break;
        *is = 0;
        if (strcmp(w, "groups") == 0) {
            sscanf(is + 1, "%u,%u,%u", &l->groups[0], &l->groups[1], &l->groups[2]);
            continue;
        }
        const int64_t integer = strtoll(is + 1, &end, 10);
        l->scalars[n] = (gradcheck_scalar){w, strtod(is + 1, NULL)};
        l->integers[n++] = *end ? 0 : integer;
    }
}

static void read_data(job *j)
{
    char *s = directive(j, "data"), *save = NULL;
    uint32_t n = 0;
    for (char *w = s ? strtok_r(s, " ", &save) : NULL; w && n < MOST_NAMES;
         w = strtok_r(NULL, " ", &save), n++) {
        char *is = strchr(w, '=');
        if (!is) break;
        *is = 0;
        uint32_t k = 0;
        for (char *v = is; v && k < MOST_VALUES; v = strchr(v + 1, ','))
            j->values[n][k++] = strtod(v + 1, NULL);
        j->c.data[n] = (gradcheck_data){w, j->values[n], k};
    }
}

static void read_directives(job *j, uint32_t *first)
{
    gradcheck *c = &j->c;
    job_launch *l = j->launches;
    char *s;
    read_launch(l, directive(j, "set"));
    if ((s = directive(j, "groups")))
        sscanf(s, "%u,%u,%u", &l->groups[0], &l->groups[1], &l->groups[2]);
    j->launch_count = 1;
    while (j->launch_count < MOST_LAUNCHES && (s = directive_at(j, "launch", j->launch_count - 1)))
        read_launch(&j->launches[j->launch_count++], s);
    read_data(j);
    read_list(j, "of", c->of);
    read_list(j, "wrt", c->wrt);
    read_list(j, "permutation", j->permutations);
    launch = (vy_eval_options){.max_steps = 200000000};
    if ((s = directive(j, "subgroup"))) launch.subgroup_size = (uint32_t)atoi(s);
    if ((s = directive(j, "unknown"))) c->unknown = (uint64_t)atoll(s);
    if ((s = directive(j, "seed"))) *first = (uint32_t)atoi(s);
    c->tolerance = (s = directive(j, "tolerance")) ? strtod(s, NULL) : 0;
    j->tolerance = c->tolerance ? c->tolerance : 1e-8;
    if (!c->tolerance) c->tolerance = 1e-6;
    c->text = j->text;
    j->pick = *first;
    if ((s = directive(j, "only"))) {
        j->brief = strcmp(s, "brief") == 0;
        j->ways_only = strcmp(s, "ways") == 0;
        j->tangents = strcmp(s, "jvp") == 0;
        j->third_only = strcmp(s, "third") == 0;
    }
    if (j->ways_only) launch.max_steps = 20000000;
}

// From here on programs run with the sizes and groups of launch k.
static void use_launch(job *j, uint32_t k)
{
    const job_launch *l = &j->launches[k];
    memcpy(j->c.scalars, l->scalars, sizeof l->scalars);
    memcpy(j->c.integers, l->integers, sizeof l->integers);
    memcpy(j->c.groups, l->groups, sizeof l->groups);
    memcpy(launch.groups, l->groups, sizeof l->groups);
}

// Made-up data, and permutations for the buffers that the file names.
static void fill_job(const job *j, const vy_program *p, image *x)
{
    fill(&j->c, p, x);
    for (int n = 0; n < MOST_NAMES && j->permutations[n]; n++) {
        int at = find(x, j->permutations[n]);
        if (at < 0) continue;
        const vy_type type = p->buffers.data[vy_program_find_buffer(p, j->permutations[n]).id].type;
        uint64_t s = j->c.seed * 7919u + 3;
        char *data = x->buffers[at].data;
        const size_t size = vy_type_size(type);
        for (uint64_t e = 0; e < x->counts[at]; e++) { // Fisher and Yates, inside out
            uint64_t k = next_random(&s) % (e + 1);
            vy_scalar_write(type, vy_scalar_read(type, data + k * size), data + e * size);
            vy_scalar_write(type, (vy_scalar){.i = (int64_t)e}, data + k * size);
        }
    }
}

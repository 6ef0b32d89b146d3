// SPDX-License-Identifier: MIT
// gradcheck_permute.h: the same program with its parameters in another order and under other names,
// and with the axes of its domain in another order; part of gradcheck_file.c.  Some names are those
// that the gradient gave to its own workspaces: it must then choose others.
//
// The canonical text is rewritten word by word: it has neither functions nor shadowed names.
// Built-in values are permuted with the axes: if axis a becomes axis b, gid.a becomes gid.b, the
// workgroup's shape follows, and lindex is expanded into an expression of lid.  Axes are not
// permuted where the program would change its meaning: lanes of subgroups are numbered along the
// axes, among equal maxima the last invocation's wins, and exchanges and old values of atomics
// depend on the order of invocations.
enum { MOST_RENAMED = 96, MOST_KEPT = 1024 };

typedef struct permuted {
    char *old_names[MOST_RENAMED], *new_names[MOST_RENAMED];
    uint32_t count;
    char *text; // NULL: it cannot be made
    bool axes;  // the domain's are in another order
    char *kept[MOST_KEPT];
    uint32_t kept_count;
} permuted;

static void permuted_free(permuted *q)
{
    for (uint32_t i = 0; i < q->count; i++) {
        free(q->old_names[i]);
        free(q->new_names[i]);
    }
    for (uint32_t i = 0; i < q->kept_count; i++) free(q->kept[i]);
    free(q->text);
}

static const char *new_name(const permuted *q, const char *old)
{
    for (uint32_t i = 0; old && i < q->count; i++)
        if (strcmp(q->old_names[i], old) == 0) return q->new_names[i];
    return old;
}

// grad_NEW → grad_OLD, also with other prefixes.  The string belongs to q.
static char *old_name(permuted *q, const char *name)
{
    char made[300];
    if (q->kept_count == MOST_KEPT) abort();
    snprintf(made, sizeof made, "%s", name);
    for (const char *at = name; at; at = strchr(at, '_') ? strchr(at, '_') + 1 : NULL)
        for (uint32_t i = 0; i < q->count; i++)
            if (strcmp(q->new_names[i], at) == 0) {
                snprintf(made, sizeof made, "%.*s%s", (int)(at - name), name, q->old_names[i]);
                return q->kept[q->kept_count++] = strdup(made);
            }
    return q->kept[q->kept_count++] = strdup(made);
}

static void shuffle(uint64_t *s, uint32_t n, uint32_t *order)
{
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t k = (uint32_t)(next_random(s) % (i + 1));
        order[i] = order[k];
        order[k] = i;
    }
}

typedef struct spans { // parts of a list between brackets
    const char *from[MOST_RENAMED];
    size_t length[MOST_RENAMED];
    uint32_t count;
    const char *end; // at the closing bracket
} spans;

static bool in_word(char c) { return isalnum((unsigned char)c) || c == '_'; }

static bool split(const char *at, spans *s) // `at` is behind the opening bracket
{
    s->count = 0;
    const char *from = at;
    for (int depth = 0;; at++) {
        if (!*at) return false;
        if (depth == 0 && (*at == ',' || *at == ')')) {
            while (isspace((unsigned char)*from)) from++;
            if (at > from && s->count < MOST_RENAMED) {
                s->from[s->count] = from;
                s->length[s->count++] = (size_t)(at - from);
            }
            from = at + 1;
        }
        if (*at == ')' && depth == 0) break;
        depth += (*at == '(' || *at == '[') - (*at == ')' || *at == ']');
    }
    s->end = at;
    return s->count < MOST_RENAMED;
}

// The name in front of the first `:` of a declaration, without back quotes.
static char *declared(const char *from, size_t length)
{
    const char *colon = memchr(from, ':', length), *at = colon;
    if (!colon) return NULL;
    const char *end = at > from && at[-1] == '`' ? --at : colon;
    while (at > from && (end == colon ? in_word(at[-1]) : at[-1] != '`')) at--;
    return strndup(at, (size_t)(end - at));
}

// Is the length of the buffer in `of` part of the declaration in `from`?
static bool has_length_of(const char *from, size_t length, const char *of, size_t of_length)
{
    char *name = memchr(of, '[', of_length) ? declared(of, of_length) : NULL;
    const char *at = memchr(from, '[', length), *end = from + length;
    const size_t n = name ? strlen(name) : 0;
    bool has = false;
    for (; n && at && at + n < end; at++)
        has |= !in_word(at[-1]) && !in_word(at[n]) && strncmp(at, name, n) == 0;
    free(name);
    return has;
}

// Buffers whose lengths others are made of before these: a text has them in this order.
static void respect_lengths(const spans *s, uint32_t *order)
{
    for (uint32_t i = 0, moves = 0; i < s->count && moves < MOST_RENAMED * MOST_RENAMED; i++)
        for (uint32_t k = i + 1; k < s->count; k++) {
            const uint32_t a = order[i], b = order[k];
            if (!has_length_of(s->from[a], s->length[a], s->from[b], s->length[b])) continue;
            order[i] = b;
            order[k] = a;
            moves++;
            k = i; // what is here now may be made of others
        }
}

// The k-th workspace of all programs of `m`; NULL: there are fewer.
static const char *workspace_name(const vy_module *m, uint32_t k)
{
    for (uint32_t n = 0; n < m->programs.count; n++) {
        const vy_program *p = m->programs.data[n];
        for (uint32_t i = 1; i < p->buffers.count; i++)
            if (p->buffers.data[i].workspace && k-- == 0) return p->buffers.data[i].name;
    }
    return NULL;
}

// A workspace's name for parameter i, unless another parameter has it or the text contains it.
static const char *hostile_name(const permuted *q, const vy_module *gradient, uint32_t i,
                                const char *text)
{
    const char *name = gradient ? workspace_name(gradient, i) : NULL;
    for (uint32_t k = 0; name && k < q->count; k++)
        if (strcmp(q->new_names[k], name) == 0) return NULL;
    return name && !strstr(text, name) ? name : NULL;
}

static bool rename_all(permuted *q, const spans *s, const char *stem, const uint32_t *order,
                       const vy_module *gradient, const char *text)
{
    for (uint32_t i = 0; i < s->count; i++) {
        char name[300];
        char *old = declared(s->from[i], s->length[i]);
        if (!old || q->count == MOST_RENAMED) {
            free(old);
            return false;
        }
        const char *hostile = hostile_name(q, gradient, order[i], text);
        if (hostile)
            snprintf(name, sizeof name, "%s", hostile);
        else
            snprintf(name, sizeof name, "%s%02u%s", stem, order[i], old);
        for (char *at = name; !hostile && (at = strchr(at, '.'));) *at = '_'; // a struct's field
        q->old_names[q->count] = old;
        q->new_names[q->count++] = strdup(name);
    }
    return true;
}

static bool has_leaf(const vy_program *p, vy_builtin from, vy_builtin to)
{
    for (uint32_t i = 0; i < p->leaves.count; i++) {
        const vy_leaf *l = &p->leaves.data[i];
        if (l->kind == VY_LEAF_BUILTIN && l->index >= (uint32_t)from && l->index <= (uint32_t)to)
            return true;
    }
    return false;
}

static bool axes_matter(const vy_program *p)
{
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_op op = (vy_op)p->insts.data[id].op;
        const vy_type type = p->insts.data[id].type;
        if (vy_op_is_atomic(op) && type != VY_VOID) return true;
        if (op == VY_OP_ATOMIC_EXCHANGE || op == VY_OP_ATOMIC_CAS) return true;
        if ((op == VY_OP_ATOMIC_MIN || op == VY_OP_ATOMIC_MAX) &&
            vy_type_is_float(vy_id_type(p, vy_arg(p, id, p->insts.data[id].nargs - 1))))
            return true;
        if (vy_op_is_subgroup(op)) return true;
    }
    return has_leaf(p, VY_LANE, VY_SUBGROUP_SIZE);
}

// axis[x] is what axis x becomes.  False: axes are not permuted.
static bool choose_axes(const vy_program *p, uint64_t *s, uint32_t rank, uint32_t *order,
                        uint32_t axis[3])
{
    for (uint32_t i = 0; i < rank; i++) order[i] = i;
    for (uint32_t x = 0; x < 3; x++) axis[x] = x;
    if (rank < 2 || axes_matter(p)) return false;
    const bool seen = has_leaf(p, VY_GID, VY_LINDEX);
    if (rank > 3 && seen) { // the extents beyond the third make up z together
        order[rank - 2] = rank - 1;
        order[rank - 1] = rank - 2;
        axis[0] = 1;
        axis[1] = 0;
        return true;
    }
    bool moved = false;
    for (int tries = 0; tries < 8 && !moved; tries++) {
        shuffle(s, rank, order);
        for (uint32_t i = 0; i < rank; i++) moved |= order[i] != i;
    }
    for (uint32_t i = 0; i < rank && rank <= 3; i++) // place i now holds what was at order[i]
        axis[rank - 1 - order[i]] = rank - 1 - i;
    return moved;
}

typedef struct writer {
    char *text;
    size_t size, room;
} writer;

static void put(writer *w, const char *text, size_t n)
{
    if (w->size + n + 1 > w->room) {
        w->room = 2 * (w->size + n + 64);
        w->text = realloc(w->text, w->room);
    }
    memcpy(w->text + w->size, text, n);
    w->text[w->size += n] = 0;
}

static void put_name(writer *w, const char *name)
{
    bool word = true;
    for (const char *at = name; *at; at++) word &= in_word(*at);
    if (!word) put(w, "`", 1);
    put(w, name, strlen(name));
    if (!word) put(w, "`", 1);
}

// The name in back quotes at `text`, renamed: how many characters it is.
static size_t put_quoted(writer *w, const permuted *q, const char *text)
{
    char name[300];
    const size_t length = strcspn(text + 1, "`");
    snprintf(name, sizeof name, "%.*s", (int)length, text + 1);
    put_name(w, new_name(q, name));
    return length + 2;
}

// Text with its words renamed and its built-in values permuted.
static void put_renamed(writer *w, const permuted *q, const vy_program *p, const uint32_t axis[3],
                        const char *text, size_t n)
{
    static const char *const ids[] = {"gid", "lid", "wid", "num_groups"};
    char made[200];
    uint32_t shape[3];
    vy_program_workgroup(p, shape);
    for (size_t at = 0; at < n;) {
        size_t length = 0;
        if (text[at] == '`') {
            at += put_quoted(w, q, text + at);
            continue;
        }
        while (at + length < n && in_word(text[at + length])) length++;
        const bool member = at > 1 && text[at - 1] == '.' && text[at - 2] != '.';
        if (!length || member) {
            put(w, text + at, length ? length : 1);
            at += length ? length : 1;
            continue;
        }
        snprintf(made, sizeof made, "%.*s", (int)length, text + at);
        const bool is_class = at > 1 && text[at - 2] == ':' && // a parameter may be named `out`
                              (strcmp(made, "in") == 0 || strcmp(made, "out") == 0);
        const char *to = new_name(q, made);
        if (to != made && !is_class) {
            put_name(w, to);
        } else if (q->axes && strcmp(made, "lindex") == 0) {
            snprintf(made, sizeof made, "(lid.%c + %uu * (lid.%c + %uu * lid.%c))", "xyz"[axis[0]],
                     shape[0], "xyz"[axis[1]], shape[1], "xyz"[axis[2]]);
            put(w, made, strlen(made));
        } else {
            put(w, made, length);
            for (int i = 0; i < 4; i++) {
                if (strcmp(made, ids[i]) != 0 || text[at + length] != '.') continue;
                char after[2] = {'.', "xyz"[axis[text[at + length + 1] - 'x']]};
                put(w, after, 2);
                length += 2;
            }
        }
        at += length;
    }
}

static void put_list(writer *w, const permuted *q, const vy_program *p, const uint32_t axis[3],
                     const spans *s, const uint32_t *order)
{
    for (uint32_t i = 0; i < s->count; i++) {
        if (i) put(w, ", ", 2);
        put_renamed(w, q, p, axis, s->from[order[i]], s->length[order[i]]);
    }
    put(w, ")", 1);
}

static void put_workgroup(writer *w, const vy_program *p, const uint32_t axis[3])
{
    uint32_t shape[3], other[3];
    char made[80];
    vy_program_workgroup(p, shape);
    for (uint32_t x = 0; x < 3; x++) other[axis[x]] = shape[x];
    if (other[2] > 1)
        snprintf(made, sizeof made, " workgroup(%u, %u, %u)", other[0], other[1], other[2]);
    else if (other[1] > 1)
        snprintf(made, sizeof made, " workgroup(%u, %u)", other[0], other[1]);
    else
        snprintf(made, sizeof made, " workgroup(%u)", other[0]);
    put(w, made, strlen(made));
}

// The last program of `m` (others are dropped), rewritten.  `gradient`, which may be NULL: its
// workspaces' names are given to parameters.
static permuted permute(const vy_module *m, const vy_program *p, uint64_t seed,
                        const vy_module *gradient)
{
    permuted q = {.count = 0};
    char *text = vy_print(m, NULL), head[300];
    snprintf(head, sizeof head, "program %s(", vy_program_name(p));
    const char *start = text ? strstr(text, head) : NULL;
    spans parameters, over = {.count = 0};
    uint32_t order[MOST_RENAMED], places[MOST_RENAMED], axis[3] = {0, 1, 2};
    if (!start || !split(start + strlen(head), &parameters)) {
        free(text);
        return q;
    }
    const char *body = strstr(parameters.end, "{\n"), *end = strstr(parameters.end, "\n}\n");
    const char *domain = strstr(parameters.end, "over(");
    bool ok = body && end && (!domain || domain > body || split(domain + 5, &over));
    uint64_t s = seed * 31 + 7;
    shuffle(&s, parameters.count, order);
    respect_lengths(&parameters, order);
    ok = ok && rename_all(&q, &parameters, "q", order, gradient, text);
    const uint32_t named = q.count;
    shuffle(&s, over.count, places);
    ok = ok && rename_all(&q, &over, "o", places, NULL, text) && q.count - named == over.count;
    if (ok) {
        writer w = {NULL, 0, 0};
        const char *line = start;
        while (line > text && line[-1] != '\n') line--; // with its attributes
        q.axes = choose_axes(p, &s, over.count, places, axis);
        put(&w, line, (size_t)(start - line) + strlen(head));
        put_list(&w, &q, p, axis, &parameters, order);
        if (p->has_workgroup) put_workgroup(&w, p, axis);
        if (over.count) {
            put(&w, " over(", 6);
            put_list(&w, &q, p, axis, &over, places);
        }
        put(&w, "\n", 1);
        put_renamed(&w, &q, p, axis, body, (size_t)(end - body) + 3);
        q.text = w.text;
    }
    free(text);
    return q;
}

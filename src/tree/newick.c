#include "tree/newick.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "base/number.h"
#include "tree/topology.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void newick_init(newick *t)
{
    memset(t, 0, sizeof *t);
}

void newick_free(newick *t)
{
    free(t->node);
    free(t->plain);
    newick_init(t);
}

static int add_node(newick *t, int32_t parent, const char *from)
{
    if (t->count == t->room) {
        if (t->room > 2 * TOPOLOGY_MAX_TAXA)
            return ART_ERR_LIMIT;
        int32_t room = t->room ? 2 * t->room : 128;
        newick_node *node = mem_resize(t->node, (size_t)room, sizeof *node);
        if (!node)
            return ART_ERR_NOMEM;
        t->node = node;
        t->room = room;
    }
    t->node[t->count++] = (newick_node){.parent = parent, .from = from};
    if (parent >= 0)
        t->node[parent].n_children++;
    return ART_OK;
}

/* The tree ends or closes at a token where its parentheses do not match. */
static int unbalanced(const nexus *n, const char *start, const nexus_token *at)
{
    nexus ahead = *n;
    ahead.at = start;
    ahead.d = NULL;
    nexus_token t;
    size_t open = 0, close = 0;
    while (nexus_next(&ahead, &t) == ART_OK && t.kind != NEXUS_END && !nexus_is_mark(&t, ';')) {
        open += nexus_is_mark(&t, '(');
        close += nexus_is_mark(&t, ')');
    }
    return diag_error(n->d, ART_ERR_INPUT, nexus_place(n, at),
                      "the parentheses do not match: %zu '(' and %zu ')' -- close every one, and "
                      "put names with ( ) or ; in quotes",
                      open, close);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n';
}

static int read_weight(newick *t, const nexus *n, const nexus_token *note)
{
    const char *s = note->start + 1, *end = note->start + note->length;
    while (s < end && is_blank(*s))
        s++;
    while (end > s && is_blank(end[-1]))
        end--;
    const char *slash = memchr(s, '/', (size_t)(end - s));
    double share = 1;
    int status = number_double(&t->weight, s, (size_t)((slash ? slash : end) - s));
    if (!status && slash)
        status = number_double(&share, slash + 1, (size_t)(end - slash - 1));
    t->weight /= share;
    if (status || share <= 0 || !(t->weight >= 0 && t->weight <= NEWICK_MAX_WEIGHT)) {
        char shown[64];
        return diag_error(
            n->d, ART_ERR_INPUT, nexus_place(n, note),
            "the weight %s is not a non-negative number -- write for example [&W 0.25]",
            diag_quote(shown, sizeof shown, s, (size_t)(end - s)));
    }
    t->has_weight = true;
    return ART_OK;
}

int newick_read_head(newick *t, nexus *n)
{
    t->count = 0;
    t->joined = -1;
    t->rooting = NEWICK_UNSAID;
    t->has_weight = false;
    t->weight = 1;
    bool comments = n->comments;
    n->comments = true;
    nexus_token token;
    int status;
    const char *at = n->at;
    while ((status = nexus_next(n, &token)) == ART_OK && token.kind == NEXUS_COMMENT) {
        char c = *token.start;
        if (token.length == 1 && (c == 'R' || c == 'r'))
            t->rooting = NEWICK_ROOTED;
        if (token.length == 1 && (c == 'U' || c == 'u'))
            t->rooting = NEWICK_UNROOTED;
        if (token.length > 1 && (c == 'W' || c == 'w') && is_blank(token.start[1]))
            if ((status = read_weight(t, n, &token)) != ART_OK)
                break;
        at = n->at;
    }
    n->at = at;
    n->comments = comments;
    return status;
}

static int read_length(newick_node *node, nexus *n)
{
    nexus_token t;
    int status;
    do /* BEAST writes annotations between the ':' and the number */
        if ((status = nexus_next(n, &t)) != ART_OK)
            return status;
    while (t.kind == NEXUS_COMMENT);
    if (t.kind != NEXUS_WORD || number_double(&node->length, t.start, t.length) != ART_OK)
        return nexus_unexpected(n, &t, "a branch length after ':'",
                                "write a number such as 0.1 or 1e-5");
    node->has_length = true;
    return ART_OK;
}

/* '' inside a quoted label, or a bare one that goes on in the next line. */
static bool has_escapes(const newick_node *node)
{
    return memchr(node->label, node->quoted ? '\'' : '\n', node->label_length);
}

/* A mark of a branch as PAML has it, #1 or $2. */
static bool is_branch_mark(const nexus_token *t)
{
    return t->kind == NEXUS_WORD && t->length > 1 && (*t->start == '#' || *t->start == '$') &&
           t->start[1] >= '0' && t->start[1] <= '9';
}

/* Whether the token is the rest of the label: the text was broken into lines inside a bare name. */
static bool goes_on(const newick_node *node, const nexus_token *t)
{
    return node->label && !node->has_length && !node->quoted && t->kind == NEXUS_WORD &&
           t->from[-1] == '\n' && node->label + node->label_length == t->from - 1;
}

static int read_label(newick *tree, newick_node *node, const nexus *n, const nexus_token *whole)
{
    char shown[64];
    nexus_token joined = *whole;
    const nexus_token *t = &joined;
    if (is_branch_mark(t))
        return ART_OK;
    if (goes_on(node, t)) {
        tree->joined = (int32_t)(node - tree->node);
        joined.start = joined.from = node->label;
        joined.length += (size_t)(whole->start - node->label);
        node->label = NULL;
    }
    if (node->has_length || node->label)
        return diag_error(n->d, ART_ERR_INPUT, nexus_place(n, t),
                          "expected ',', ')' or ';', found %s -- put names with blanks or "
                          "punctuation in quotes",
                          diag_quote(shown, sizeof shown, t->start, t->length));
    if (t->length > NEWICK_MAX_LABEL)
        return diag_error(n->d, ART_ERR_INPUT, nexus_place(n, t),
                          "the label %s has %zu bytes, but at most %d are allowed -- shorten it",
                          diag_quote(shown, sizeof shown, t->start, t->length), t->length,
                          NEWICK_MAX_LABEL);
    node->label = t->start;
    node->label_length = (uint32_t)t->length;
    node->quoted = t->kind == NEXUS_QUOTED;
    if (node->n_children == 0)
        node->from = t->from;
    if (has_escapes(node) && !tree->plain)
        tree->plain = mem_zeros(NEWICK_MAX_LABEL + 1, 1);
    return has_escapes(node) && !tree->plain ? ART_ERR_NOMEM : ART_OK;
}

/* The node ends at a token: a leaf must have a name. */
static int end_node(const newick_node *node, const nexus *n, const nexus_token *t)
{
    if (node->n_children == 0 && (!node->label || node->label_length == 0))
        return diag_error(n->d, ART_ERR_INPUT, nexus_place(n, t),
                          "a taxon without a name before '%c' -- add its name, or remove a "
                          "superfluous comma or parenthesis",
                          *t->start);
    return ART_OK;
}

/* One token of the tree that began at start; *at is the node being read. */
static int read_token(newick *t, int32_t *at, const char *start, nexus *n, const nexus_token *token)
{
    newick_node *node = &t->node[*at];
    bool fresh = !node->label && !node->has_length && node->n_children == 0;
    int status;
    if (token->kind == NEXUS_COMMENT) {
        if (!node->has_length)
            node->note = token->start;
        return ART_OK;
    }
    if (token->kind != NEXUS_MARK)
        return read_label(t, node, n, token);
    switch (*token->start) {
    case '(':
        if (!fresh)
            return nexus_unexpected(n, token, "',', ')' or ';'", "a comma or ';' is missing");
        node->from = token->from;
        status = add_node(t, *at, token->from);
        *at = t->count - 1;
        return status;
    case ':':
        if (node->has_length)
            return nexus_unexpected(n, token, "',', ')' or ';'",
                                    "a branch has only one length; put names with ':' in quotes");
        return read_length(node, n);
    case ')':
        if (*at == 0)
            return unbalanced(n, start, token);
        status = end_node(node, n, token);
        *at = node->parent;
        return status;
    default: /* ',' */
        if (*at == 0)
            return nexus_unexpected(n, token, "';'", "the tree is complete here");
        status = end_node(node, n, token);
        if (status == ART_OK)
            status = add_node(t, node->parent, token->from);
        *at = t->count - 1;
        return status;
    }
}

int newick_read(newick *t, nexus *n)
{
    int status = newick_read_head(t, n);
    if (status)
        return status;
    const char *start = n->at;
    int32_t at = 0;
    nexus_token token;
    bool comments = n->comments;
    n->comments = true;
    status = add_node(t, -1, start);
    while (!status && (status = nexus_next(n, &token)) == ART_OK) {
        if (token.kind == NEXUS_END || nexus_is_mark(&token, ';')) {
            if (at != 0)
                status = unbalanced(n, start, &token);
            else if (token.kind == NEXUS_END)
                status = nexus_unexpected(n, &token, "';' at the end of the tree", "add it");
            else
                status = end_node(&t->node[0], n, &token);
            break;
        }
        status = read_token(t, &at, start, n, &token);
    }
    n->comments = comments;
    return status;
}

int newick_prune(newick *t, const bool *drop)
{
    const size_t n = (size_t)t->count;
    int32_t *kept = mem_zeros(2 * n, sizeof *kept), *to = kept ? kept + n : NULL;
    double *above = mem_zeros(n, sizeof *above); /* length of the branches of dropped nodes above */
    if (!kept || !above) {
        free(kept);
        free(above);
        return ART_ERR_NOMEM;
    }
    for (int32_t i = t->count - 1; i > 0; i--) {
        const newick_node *node = &t->node[i];
        kept[node->parent] += node->n_children ? kept[i] > 0 : !drop[i];
    }
    int32_t count = 0;
    for (int32_t i = 0; i < t->count; i++) {
        newick_node node = t->node[i];
        if (node.n_children ? kept[i] == 0 : drop[i])
            continue;
        const double length = node.has_length ? node.length : (double)NAN;
        const int32_t parent = i ? to[node.parent] : -1;
        const double whole = parent < 0 ? 0 : length + above[node.parent];
        if (node.n_children && kept[i] == 1) {
            to[i] = parent;
            above[i] = whole;
            continue;
        }
        node.parent = parent;
        node.n_children = kept[i];
        node.has_length = parent >= 0 && !isnan(whole);
        node.length = node.has_length ? whole : 0;
        to[i] = count;
        above[i] = 0;
        t->node[count++] = node;
    }
    t->count = count;
    free(kept);
    free(above);
    return ART_OK;
}

const char *newick_label(const newick *t, const newick_node *node, size_t *length)
{
    *length = node->label_length;
    if (!has_escapes(node))
        return node->label;
    nexus_token token = {NEXUS_QUOTED, node->label, node->label_length, node->label};
    if (node->quoted) {
        *length = nexus_unquote(t->plain, &token);
        return t->plain;
    }
    *length = 0;
    for (uint32_t i = 0; i < node->label_length; i++)
        if (node->label[i] != '\n')
            t->plain[(*length)++] = node->label[i];
    t->plain[*length] = '\0';
    return t->plain;
}

bool newick_annotation(double *value, const newick_node *node, const char *key)
{
    size_t n = strlen(key);
    for (const char *s = node->note; s && *s && *s != ']';) {
        if (strncmp(s, key, n) == 0 && s[n] == '=') {
            s += n + 1;
            return number_double(value, s, strcspn(s, ",]} ")) == ART_OK;
        }
        s += strcspn(s, ",]");
        s += *s == ',';
    }
    return false;
}

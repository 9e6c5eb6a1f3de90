#include "tree/tree_index.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/utf8.h"
#include "io/nexus_link.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

void tree_index_init(tree_index *x)
{
    memset(x, 0, sizeof *x);
    tree_labels_init(&x->labels, &x->names, "the list of taxa of the file");
    x->labels.listed = &x->names;
}

void tree_index_free(tree_index *x)
{
    free(x->start);
    taxa_free(&x->names);
    tree_labels_free(&x->labels);
    memset(x, 0, sizeof *x);
}

/* The text, read as commands of NEXUS and as trees, in which fewer characters are punctuation. */
typedef struct finder {
    tree_index *x;
    nexus words;
    nexus tree_words;
    taxa *list;         /* [n_lists] TAXLABELS of each TAXA block */
    nexus_token *title; /* [n_lists] of these blocks; END for one without a title */
    size_t n_lists;
    bool is_translated; /* a TRANSLATE table gave the names, not a list */
    size_t linked;      /* the list that a TREES block linked to; SIZE_MAX if none did */
} finder;

/* Enters the tree that begins where the words are, and goes behind its ';'. A tree without ';'
 * is the last one; newick_read will have something to say about it. */
static int add_tree(finder *f, nexus *words)
{
    if (f->x->count == f->x->room) {
        size_t room = f->x->room ? 2 * f->x->room : 64;
        const char **start = mem_resize(f->x->start, room, sizeof *start);
        if (!start)
            return ART_ERR_NOMEM;
        f->x->start = start;
        f->x->room = room;
    }
    f->x->start[f->x->count++] = words->at;
    if (!strchr(words->at, ';')) {
        words->at = f->words.in->text + f->words.in->length;
        return ART_OK;
    }
    f->tree_words.at = words->at;
    int status = nexus_skip_command(&f->tree_words);
    words->at = f->tree_words.at;
    return status;
}

/* The text ends before the next ';': there are no more trees, or the last one was not written to
 * its end. */
static bool no_more(const finder *f, const nexus *words)
{
    if (f->x->count == 0 || strchr(words->at, ';'))
        return false;
    nexus ahead = *words;
    nexus_token t;
    ahead.d = NULL;
    if (nexus_next(&ahead, &t) != ART_OK || t.kind != NEXUS_END) {
        const char *at = words->at + strspn(words->at, " \t\n");
        diag_note(words->d, input_place(words->in, at),
                  "the last tree is incomplete; it is left out");
    }
    return true;
}

/* The numbers before the first tree of PAML's files: of trees, or of taxa and trees. *trees becomes
 * SIZE_MAX if there are none. */
static int read_paml_head(finder *f, size_t *trees)
{
    nexus ahead = f->tree_words;
    nexus_token t;
    int64_t number = 0;
    int count = 0, status;
    *trees = SIZE_MAX;
    while ((status = nexus_next(&ahead, &t)) == ART_OK && count < 2 && t.kind == NEXUS_WORD &&
           number_int(&number, t.start, t.length) == ART_OK && number > 0) {
        f->tree_words.at = ahead.at;
        *trees = (size_t)number;
        count++;
    }
    return status;
}

/* A line of PAML's that begins with //. */
static void skip_paml_comments(nexus *words)
{
    for (;;) {
        const char *at = words->at + strspn(words->at, " \t\n");
        if (strncmp(at, "//", 2) != 0)
            return;
        words->at = at + strcspn(at, "\n");
    }
}

static int find_newick_trees(finder *f)
{
    nexus *words = &f->tree_words;
    size_t wanted;
    int status = read_paml_head(f, &wanted);
    if (status)
        return status;
    for (;;) {
        if (wanted < SIZE_MAX)
            skip_paml_comments(words);
        if (f->x->count == wanted) {
            const char *rest = words->at + strspn(words->at, " \t\n");
            if (*rest)
                diag_note(words->d, input_place(words->in, rest),
                          "the first line says how many trees to read (%zu); what follows them is "
                          "not read",
                          wanted);
            break;
        }
        if (no_more(f, words))
            break;
        nexus_token t;
        status = nexus_peek(words, &t);
        if (status)
            return status;
        if (t.kind == NEXUS_END)
            break;
        if (!nexus_is_mark(&t, '('))
            return nexus_unexpected(words, &t, "'(' at the beginning of a tree",
                                    "give Newick trees, each with a ';' at its end and with quotes "
                                    "around names with ';', or a NEXUS file");
        if ((status = add_tree(f, words)) != ART_OK)
            return status;
    }
    return ART_OK;
}

/* A name from a TRANSLATE table or a list of taxa, added to the names; its number there.
 * may_repeat: it may be there already. */
static int add_name(finder *f, taxa *names, const nexus_token *t, bool may_repeat, int32_t *number)
{
    char shown[128];
    diag_place place = nexus_place(&f->words, t);
    diag_quote(shown, sizeof shown, t->start, t->length);
    if (t->length > NEWICK_MAX_LABEL)
        return diag_error(f->words.d, ART_ERR_INPUT, place,
                          "the name %s is too long -- at most %d bytes are allowed", shown,
                          NEWICK_MAX_LABEL);
    if (t->kind == NEXUS_WORD && memchr(t->start, '*', t->length))
        return diag_error(f->words.d, ART_ERR_INPUT, place,
                          "the name %s has an unquoted '*' -- put it in quotes", shown);
    if (utf8_invalid(t->start, t->length) < t->length)
        return diag_error(f->words.d, ART_ERR_INPUT, place,
                          "the name %s is not valid UTF-8 -- save the file as UTF-8", shown);
    char *name = mem_zeros(t->length + 1, 1);
    if (!name)
        return ART_ERR_NOMEM;
    const size_t length = nexus_unquote(name, t);
    *number = names->count;
    int status = taxa_add(names, name, length);
    if (status == ART_ERR_INPUT && may_repeat) {
        *number = taxa_find(names, name, length);
        status = ART_OK;
    }
    free(name);
    if (status == ART_ERR_INPUT)
        diag_error(f->words.d, status, place,
                   "taxon %s is listed twice -- every taxon must have one entry", shown);
    return status;
}

/* One entry of the table, `token name`. In a table that is not the first of the file it may say
 * again what an earlier one said. */
static int read_entry(finder *f, const nexus_token *token, bool is_first)
{
    nexus_token name;
    char shown[128];
    int32_t number;
    int status = nexus_next(&f->words, &name);
    if (status)
        return status;
    if (!nexus_is_name(&name))
        return nexus_unexpected(&f->words, &name, "the name of a taxon",
                                "every entry of TRANSLATE is a token, a name and a comma");
    if ((status = add_name(f, &f->x->names, &name, !is_first, &number)) != ART_OK)
        return status;
    char *plain = mem_zeros(token->length + 1, 1);
    if (!plain)
        return ART_ERR_NOMEM;
    const size_t length = nexus_unquote(plain, token);
    const int32_t known = taxa_find(&f->x->labels.token, plain, length);
    const bool says_the_same = known >= 0 && !is_first && f->x->labels.meaning[known] == number;
    if (!says_the_same)
        status = tree_labels_add(&f->x->labels, plain, length, number);
    free(plain);
    if (status == ART_ERR_INPUT && !is_first)
        diag_error(f->words.d, status, nexus_place(&f->words, token),
                   "the token %s stood for another taxon in the TRANSLATE table before -- give "
                   "blocks of trees whose tables differ as separate files",
                   diag_quote(shown, sizeof shown, token->start, token->length));
    else if (status == ART_ERR_INPUT)
        diag_error(f->words.d, status, nexus_place(&f->words, token),
                   "the token %s occurs twice in TRANSLATE -- every token must stand for one taxon",
                   diag_quote(shown, sizeof shown, token->start, token->length));
    return status;
}

static int read_translate(finder *f)
{
    nexus *words = &f->words;
    nexus_token t;
    int status = nexus_next(words, &t);
    const bool is_first = !f->is_translated;
    f->is_translated = true;
    while (!(status = nexus_next(words, &t)) && !nexus_is_mark(&t, ';')) {
        if (!nexus_is_name(&t))
            return nexus_unexpected(words, &t, "a token of TRANSLATE",
                                    "every entry is a token, a name and a comma");
        if ((status = read_entry(f, &t, is_first)) != ART_OK ||
            (status = nexus_peek(words, &t)) != ART_OK)
            return status;
        if (nexus_is_mark(&t, ','))
            status = nexus_next(words, &t);
        else if (!nexus_is_mark(&t, ';'))
            return nexus_unexpected(words, &t, "',' or ';' after the name",
                                    "every entry of TRANSLATE is a token, a name and a comma");
    }
    return status;
}

static bool is_of_chain(const nexus_token *name)
{
    static const char *const PREFIX[] = {"gen.", "rep.", "STATE_"};
    for (size_t i = 0; i < sizeof PREFIX / sizeof PREFIX[0]; i++) {
        const size_t n = strlen(PREFIX[i]);
        if (name->length > n && strncmp(name->start, PREFIX[i], n) == 0 && name->start[n] >= '0' &&
            name->start[n] <= '9')
            return true;
    }
    return false;
}

/* TREE [*] name = ...; */
static int find_nexus_tree(finder *f)
{
    nexus *words = &f->words;
    nexus_token t;
    int status = nexus_next(words, &t);
    if (!status && !(status = nexus_next(words, &t)) && nexus_is(&t, "*"))
        status = nexus_next(words, &t);
    if (status)
        return status;
    if (!nexus_is_name(&t))
        return nexus_unexpected(words, &t, "the name of a tree", "write TREE name = (..);");
    if (f->x->count == 0)
        f->x->is_chain = is_of_chain(&t);
    if ((status = nexus_next(words, &t)) != ART_OK)
        return status;
    if (!nexus_is_mark(&t, '='))
        return nexus_unexpected(words, &t, "'=' after the name of the tree",
                                "write TREE name = (..);");
    return add_tree(f, words);
}

/* LINK in a TREES block. */
static int read_link(finder *f)
{
    nexus_token t, link = {.kind = NEXUS_END};
    size_t which;
    char shown[64];
    int status = nexus_next(&f->words, &t);
    if (status || (status = nexus_read_link(&f->words, &link)) != ART_OK ||
        (status = nexus_find_linked(&which, &f->words, &link, f->title, f->n_lists)) != ART_OK)
        return status;
    if (f->linked < f->n_lists && which < f->n_lists && which != f->linked)
        return diag_error(f->words.d, ART_ERR_INPUT, nexus_place(&f->words, &link),
                          "the trees of this block are of the taxa %s, those before it of others "
                          "-- give blocks of trees of different taxa as separate files",
                          diag_quote(shown, sizeof shown, link.start, link.length));
    if (which < f->n_lists)
        f->linked = which;
    return ART_OK;
}

/* The commands of a TREES block, with its END. */
static int find_nexus_trees(finder *f)
{
    nexus *words = &f->words;
    while (!no_more(f, words)) {
        nexus_token t;
        int status = nexus_peek(words, &t);
        if (status)
            return status;
        if (t.kind == NEXUS_END)
            return nexus_unexpected(words, &t, "END; at the end of the TREES block", "add it");
        if (nexus_is(&t, "translate"))
            status = read_translate(f);
        else if (nexus_is(&t, "tree") || nexus_is(&t, "utree"))
            status = find_nexus_tree(f);
        else if (nexus_is(&t, "link"))
            status = read_link(f);
        else if ((status = nexus_skip_command(words)) == ART_OK &&
                 (nexus_is(&t, "end") || nexus_is(&t, "endblock")))
            return ART_OK;
        if (status)
            return status;
    }
    words->at = f->words.in->text + f->words.in->length;
    return ART_OK;
}

/* The next list of taxa, as yet without names and without a title. */
static int add_list(finder *f)
{
    taxa *list = mem_resize(f->list, f->n_lists + 1, sizeof *list);
    if (!list || nexus_add_title(&f->title, f->n_lists)) {
        f->list = list ? list : f->list;
        return ART_ERR_NOMEM;
    }
    f->list = list;
    taxa_init(&list[f->n_lists++]);
    return ART_OK;
}

/* TITLE and TAXLABELS of a TAXA block: names for trees that have them, or their numbers. */
static int read_taxa_block(finder *f)
{
    nexus *words = &f->words;
    nexus_token t;
    int status = add_list(f);
    while (!status && (status = nexus_peek(words, &t)) == ART_OK && !nexus_is(&t, "taxlabels"))
        if (t.kind == NEXUS_END || nexus_is(&t, "end") || nexus_is(&t, "endblock"))
            return nexus_skip_block(words);
        else if (nexus_is(&t, "title") && (status = nexus_next(words, &t)) == ART_OK)
            status = nexus_read_title(words, &f->title[f->n_lists - 1]);
        else
            status = nexus_skip_command(words);
    if (status || (status = nexus_next(words, &t)) != ART_OK)
        return status;
    int32_t number;
    while (!(status = nexus_next(words, &t)) && nexus_is_name(&t))
        if ((status = add_name(f, &f->list[f->n_lists - 1], &t, false, &number)) != ART_OK)
            return status;
    if (!status && !nexus_is_mark(&t, ';'))
        return nexus_unexpected(words, &t, "the name of a taxon or ';'", "end TAXLABELS with ';'");
    return status ? status : nexus_skip_block(words);
}

static int find_in_nexus(finder *f)
{
    nexus *words = &f->words;
    nexus_token t;
    int status = nexus_next(words, &t); /* #NEXUS */
    while (!status && !(status = nexus_next(words, &t)) && t.kind != NEXUS_END) {
        if (!nexus_is(&t, "begin"))
            return nexus_unexpected(words, &t, "BEGIN of a block",
                                    "end every command with ';' and every block with END;");
        nexus_token name;
        if ((status = nexus_next(words, &name)) != ART_OK ||
            (status = nexus_skip_command(words)) != ART_OK)
            return status;
        if (nexus_is(&name, "trees"))
            status = find_nexus_trees(f);
        else if (nexus_is(&name, "taxa"))
            status = read_taxa_block(f);
        else
            status = nexus_skip_block(words);
        if (nexus_is(&name, "mrbayes") || nexus_is(&name, "paup"))
            diag_note(f->words.d, nexus_place(words, &t),
                      "the commands of this block are not executed");
    }
    return status;
}

/* Without TRANSLATE, the number of a taxon in TAXLABELS stands for it if it is not a name. */
static int number_taxa(finder *f)
{
    for (int32_t i = 0; i < f->x->names.count; i++) {
        char number[16];
        int n = snprintf(number, sizeof number, "%d", i + 1);
        if (taxa_find(&f->x->names, number, (size_t)n) >= 0)
            continue;
        int status = tree_labels_add(&f->x->labels, number, (size_t)n, i);
        if (status)
            return status;
    }
    return ART_OK;
}

/* Without TRANSLATE: the names are those of the linked list, or of all lists; numbers have a
 * meaning only where there is one list that they can refer to. */
static int take_lists(finder *f)
{
    const bool is_linked = f->linked < f->n_lists;
    taxa *names = &f->x->names;
    int status = ART_OK;
    for (size_t i = 0; i < f->n_lists && !status; i++)
        for (int32_t k = 0; k < f->list[i].count && !status && (!is_linked || i == f->linked);
             k++) {
            const char *name = f->list[i].name[k];
            if (taxa_find(names, name, strlen(name)) < 0)
                status = taxa_add(names, name, strlen(name));
        }
    if (!status && (is_linked || f->n_lists == 1))
        status = number_taxa(f);
    return status;
}

static int find_all(finder *f)
{
    const input *in = f->words.in;
    const char *text = in->text + strspn(in->text, " \t\n");
    const bool is_nexus = strncasecmp(text, "#NEXUS", 6) == 0;
    int status = is_nexus ? find_in_nexus(f) : find_newick_trees(f);
    if (!status && f->x->count == 0)
        status = diag_error(f->words.d, ART_ERR_INPUT, input_file(in),
                            "the file has no trees -- give Newick trees or a NEXUS TREES block");
    return status || f->is_translated ? status : take_lists(f);
}

int tree_index_build(tree_index *x, const input *in, diag *d)
{
    finder f = {.x = x, .linked = SIZE_MAX};
    nexus_init(&f.words, in, NEXUS_PUNCTUATION, d);
    nexus_init(&f.tree_words, in, NEWICK_PUNCTUATION, d);
    int status = find_all(&f);
    for (size_t i = 0; i < f.n_lists; i++)
        taxa_free(&f.list[i]);
    free(f.list);
    free(f.title);
    return status;
}

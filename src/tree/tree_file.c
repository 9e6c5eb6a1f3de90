#include "tree/tree_file.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "base/utf8.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

void tree_file_free(tree_file *f)
{
    input_free(&f->in);
    taxa_free(&f->own);
    tree_labels_free(&f->labels);
    free(f->start);
    newick_free(&f->text);
    tree_free(&f->tree);
    tree_builder_free(&f->builder);
    memset(f, 0, sizeof *f);
}

/* Enters the tree that begins where the words are, and goes behind its ';'. A tree without ';'
 * is the last one; newick_read will have something to say about it. */
static int add_tree(tree_file *f, nexus *words)
{
    if (f->count == f->room) {
        size_t room = f->room ? 2 * f->room : 64;
        const char **start = mem_resize(f->start, room, sizeof *start);
        if (!start)
            return ART_ERR_NOMEM;
        f->start = start;
        f->room = room;
    }
    f->start[f->count++] = words->at;
    if (!strchr(words->at, ';')) {
        words->at = f->in.text + f->in.length;
        return ART_OK;
    }
    f->tree_words.at = words->at;
    int status = nexus_skip_command(&f->tree_words);
    words->at = f->tree_words.at;
    return status;
}

/* The text ends before the next ';': a file whose last tree was not written to its end. */
static bool cut_off(const tree_file *f, const char *at, diag *d)
{
    if (f->count == 0 || strchr(at, ';'))
        return false;
    at += strspn(at, " \t\n");
    if (*at)
        diag_note(d, input_place(&f->in, at), "the last tree is cut off; it is left out");
    return true;
}

static int find_newick_trees(tree_file *f, diag *d)
{
    nexus *words = &f->tree_words;
    nexus_token t;
    int status;
    while ((status = nexus_peek(words, &t)) == ART_OK && t.kind != NEXUS_END) {
        if (cut_off(f, words->at, d))
            break;
        if (!nexus_is_mark(&t, '('))
            return nexus_unexpected(words, &t, "'(' at the beginning of a tree",
                                    "give Newick trees, each with a ';' at its end and with quotes "
                                    "around names with ';', or a NEXUS file");
        if ((status = add_tree(f, words)) != ART_OK)
            break;
    }
    return status;
}

/* A name from a TRANSLATE table or a list of taxa, added to the taxa of the file. */
static int add_name(tree_file *f, const nexus_token *t, diag *d)
{
    char shown[128];
    diag_place place = nexus_place(&f->words, t);
    diag_quote(shown, sizeof shown, t->start, t->length);
    if (t->length > NEWICK_MAX_LABEL)
        return diag_error(d, ART_ERR_INPUT, place, "the name %s is too long -- at most %d bytes",
                          shown, NEWICK_MAX_LABEL);
    if (t->kind == NEXUS_WORD && memchr(t->start, '*', t->length))
        return diag_error(d, ART_ERR_INPUT, place, "the name %s has a bare '*' -- put it in quotes",
                          shown);
    if (utf8_invalid(t->start, t->length) < t->length)
        return diag_error(d, ART_ERR_INPUT, place,
                          "the name %s is not UTF-8 -- save the file as UTF-8", shown);
    char *name = mem_zeros(t->length + 1, 1);
    if (!name)
        return ART_ERR_NOMEM;
    int status = taxa_add(&f->own, name, nexus_unquote(name, t));
    free(name);
    if (status == ART_ERR_INPUT)
        diag_error(d, status, place, "taxon %s is listed twice -- every taxon has one entry",
                   shown);
    return status;
}

/* One entry of the table, `token name`. */
static int read_entry(tree_file *f, const nexus_token *token, diag *d)
{
    nexus_token name;
    char shown[128];
    int status = nexus_next(&f->words, &name);
    if (status)
        return status;
    if (!nexus_is_name(&name))
        return nexus_unexpected(&f->words, &name, "the name of a taxon",
                                "every entry of TRANSLATE is a token, a name and a comma");
    if ((status = add_name(f, &name, d)) != ART_OK)
        return status;
    char *plain = mem_zeros(token->length + 1, 1);
    if (!plain)
        return ART_ERR_NOMEM;
    status = tree_labels_add(&f->labels, plain, nexus_unquote(plain, token), f->own.count - 1);
    free(plain);
    if (status == ART_ERR_INPUT)
        diag_error(d, status, nexus_place(&f->words, token),
                   "the token %s is twice in TRANSLATE -- every token stands for one taxon",
                   diag_quote(shown, sizeof shown, token->start, token->length));
    return status;
}

static int read_translate(tree_file *f, diag *d)
{
    nexus *words = &f->words;
    nexus_token t;
    int status = nexus_next(words, &t);
    if (f->labels.token.count)
        return diag_error(d, ART_ERR_UNSUPPORTED, nexus_place(words, &t),
                          "a second TRANSLATE table -- give files with one table each");
    taxa_free(&f->own); /* a list of taxa is of no use any more */
    while (!(status = nexus_next(words, &t)) && !nexus_is_mark(&t, ';')) {
        if (!nexus_is_name(&t))
            return nexus_unexpected(words, &t, "a token of TRANSLATE",
                                    "every entry is a token, a name and a comma");
        if ((status = read_entry(f, &t, d)) != ART_OK || (status = nexus_peek(words, &t)) != ART_OK)
            return status;
        if (nexus_is_mark(&t, ','))
            status = nexus_next(words, &t);
        else if (!nexus_is_mark(&t, ';'))
            return nexus_unexpected(words, &t, "',' or ';' behind the name",
                                    "every entry of TRANSLATE is a token, a name and a comma");
    }
    return status;
}

/* TREE [*] name = ...; */
static int find_nexus_tree(tree_file *f)
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
    if ((status = nexus_next(words, &t)) != ART_OK)
        return status;
    if (!nexus_is_mark(&t, '='))
        return nexus_unexpected(words, &t, "'=' behind the name of the tree",
                                "write TREE name = (..);");
    return add_tree(f, words);
}

/* The commands of a TREES block, with its END. */
static int find_nexus_trees(tree_file *f, diag *d)
{
    nexus *words = &f->words;
    nexus_token t;
    int status;
    while (!cut_off(f, words->at, d)) {
        if ((status = nexus_peek(words, &t)) != ART_OK)
            return status;
        if (t.kind == NEXUS_END)
            return nexus_unexpected(words, &t, "END; at the end of the TREES block", "add it");
        if (nexus_is(&t, "translate"))
            status = read_translate(f, d);
        else if (nexus_is(&t, "tree") || nexus_is(&t, "utree"))
            status = find_nexus_tree(f);
        else if ((status = nexus_skip_command(words)) == ART_OK &&
                 (nexus_is(&t, "end") || nexus_is(&t, "endblock")))
            return ART_OK;
        if (status)
            return status;
    }
    words->at = f->in.text + f->in.length;
    return ART_OK;
}

/* TAXLABELS of a TAXA block: names for trees that have them, or their numbers. */
static int read_taxa_block(tree_file *f, diag *d)
{
    nexus *words = &f->words;
    nexus_token t;
    int status;
    while ((status = nexus_peek(words, &t)) == ART_OK && !nexus_is(&t, "taxlabels"))
        if (t.kind == NEXUS_END || nexus_is(&t, "end") || nexus_is(&t, "endblock"))
            return nexus_skip_block(words);
        else if ((status = nexus_skip_command(words)) != ART_OK)
            return status;
    if (status || (status = nexus_next(words, &t)) != ART_OK)
        return status;
    bool wanted = f->own.count == 0; /* not behind the trees, nor a second list */
    while (!(status = nexus_next(words, &t)) && nexus_is_name(&t))
        if (wanted && (status = add_name(f, &t, d)) != ART_OK)
            return status;
    if (!status && !nexus_is_mark(&t, ';'))
        return nexus_unexpected(words, &t, "the name of a taxon or ';'", "end TAXLABELS with ';'");
    return status ? status : nexus_skip_block(words);
}

static int find_in_nexus(tree_file *f, diag *d)
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
            status = find_nexus_trees(f, d);
        else if (nexus_is(&name, "taxa"))
            status = read_taxa_block(f, d);
        else
            status = nexus_skip_block(words);
        if (nexus_is(&name, "mrbayes") || nexus_is(&name, "paup"))
            diag_note(d, nexus_place(words, &t), "the commands of this block are not executed");
    }
    return status;
}

/* Without TRANSLATE, the number of a taxon in TAXLABELS stands for it if it is not a name. */
static int number_taxa(tree_file *f)
{
    for (int32_t i = 0; i < f->own.count; i++) {
        char number[16];
        int n = snprintf(number, sizeof number, "%d", i + 1);
        if (taxa_find(&f->own, number, (size_t)n) >= 0)
            continue;
        int status = tree_labels_add(&f->labels, number, (size_t)n, i);
        if (status)
            return status;
    }
    return ART_OK;
}

/* Brings the tokens from the order of the file to that of the trees. */
static int order_taxa(tree_file *f, const tree_options *o, diag *d)
{
    int32_t *moved = mem_zeros((size_t)f->own.count, sizeof *moved);
    if (!moved)
        return ART_ERR_NOMEM;
    int status = ART_OK;
    if (!o->taxa)
        status = taxa_sort(&f->own, moved);
    else if (f->own.count) {
        status =
            taxa_compare(&f->own, "the tree file", o->taxa, f->labels.from, input_file(&f->in), d);
        if (!status)
            taxa_map(moved, &f->own, o->taxa);
    }
    for (int32_t i = 0; !status && i < f->labels.token.count; i++)
        f->labels.meaning[i] = moved[f->labels.meaning[i]];
    free(moved);
    return status;
}

static int settle_taxa(tree_file *f, const tree_options *o, diag *d)
{
    int status = ART_OK;
    const char *from = "the list of taxa of the file";
    if (f->own.count && !f->labels.token.count)
        status = number_taxa(f);
    if (!status && !o->taxa && f->own.count == 0) {
        f->tree_words.at = f->start[0];
        from = "the first tree of the file";
        if ((status = newick_read(&f->text, &f->tree_words)) == ART_OK)
            status = tree_collect_names(&f->own, &f->text, &f->in, d);
    }
    if (status)
        return status;
    f->taxa = o->taxa ? o->taxa : &f->own;
    f->labels.taxa = f->taxa;
    f->labels.from = !o->taxa ? from : o->taxa_from ? o->taxa_from : "the given taxa";
    if (f->taxa->count < 3)
        return diag_error(d, ART_ERR_INPUT, input_file(&f->in),
                          "the trees have %d different taxa -- at least 3 are needed",
                          f->taxa->count);
    return order_taxa(f, o, d);
}

static bool named(const tree_file *f, const char *suffix)
{
    size_t n = strlen(f->in.name), m = strlen(suffix);
    return n >= m && strcasecmp(f->in.name + n - m, suffix) == 0;
}

/* Either all trees have weights or none. Sums them. */
static int sum_weights(tree_file *f, diag *d)
{
    nexus *words = &f->tree_words;
    bool expected = named(f, ".trprobs") || named(f, ".trprobs.gz");
    f->total = 0;
    for (size_t i = 0; i < f->count; i++) {
        words->at = f->start[i];
        int status = newick_read_head(&f->text, words);
        if (status)
            return status;
        if (i == 0)
            f->weighted = f->text.has_weight;
        if ((i > 0 || expected) && f->text.has_weight != (f->weighted || expected))
            return diag_error(d, ART_ERR_INPUT, input_place(&f->in, f->start[i]),
                              f->text.has_weight
                                  ? "this tree has a weight, those before have none -- give all "
                                    "trees a weight [&W w], or none"
                                  : "this tree has no weight -- give all trees a weight [&W w], or "
                                    "none in a file that is not called .trprobs");
        f->total += f->text.weight;
    }
    if (!(f->total > 0))
        return diag_error(d, ART_ERR_INPUT, input_file(&f->in),
                          "the weights of the trees are all 0 -- at least one must be above 0");
    if (f->weighted && fabs(f->total - 1) > 1e-3)
        diag_note(d, input_file(&f->in), "the weights sum to %g, not to 1; they are divided by it",
                  f->total);
    return ART_OK;
}

static int leave_out_burnin(tree_file *f, const tree_options *o, diag *d)
{
    if (!(o->burnin_share >= 0 && o->burnin_share < 1))
        return diag_error(d, ART_ERR_USAGE, (diag_place){0},
                          "the burn-in %g is not a share -- give a number from 0 up and below 1",
                          o->burnin_share);
    size_t burnin = (size_t)(o->burnin_share * (double)f->count);
    if (burnin < o->burnin_trees)
        burnin = o->burnin_trees;
    if (burnin == 0)
        return ART_OK;
    if (f->weighted) {
        diag_note(d, input_file(&f->in),
                  "the trees have weights, so there is no burn-in to leave out");
        return ART_OK;
    }
    if (burnin >= f->count)
        return diag_error(d, ART_ERR_INPUT, input_file(&f->in),
                          "a burn-in of %zu leaves none of the %zu trees -- give a smaller one",
                          burnin, f->count);
    f->skipped = burnin;
    f->count -= burnin;
    memmove(f->start, f->start + burnin, f->count * sizeof *f->start);
    f->total = (double)f->count;
    return ART_OK;
}

/* Everything that is done before the first tree is read. */
static int prepare(tree_file *f, const tree_options *o, diag *d)
{
    const char *text = f->in.text;
    nexus_init(&f->words, &f->in, NEXUS_PUNCTUATION, d);
    nexus_init(&f->tree_words, &f->in, NEWICK_PUNCTUATION, d);
    tree_labels_init(&f->labels, &f->own, "");
    f->use = o->use;
    text += strspn(text, " \t\n");
    bool is_nexus = strncasecmp(text, "#NEXUS", 6) == 0;
    int status = is_nexus ? find_in_nexus(f, d) : find_newick_trees(f, d);
    if (status)
        return status;
    if (f->count == 0)
        return diag_error(d, ART_ERR_INPUT, input_file(&f->in),
                          "the file has no trees -- give Newick trees or a NEXUS TREES block");
    if ((status = settle_taxa(f, o, d)) != ART_OK || (status = sum_weights(f, d)) != ART_OK ||
        (status = leave_out_burnin(f, o, d)) != ART_OK)
        return status;
    if ((status = tree_builder_init(&f->builder, f->taxa->count)) != ART_OK)
        return status;
    return tree_init(&f->tree, f->taxa->count);
}

int tree_file_from_input(tree_file *f, input *in, const tree_options *options, diag *d)
{
    static const tree_options defaults;
    memset(f, 0, sizeof *f);
    f->in = *in;
    memset(in, 0, sizeof *in);
    return prepare(f, options ? options : &defaults, d);
}

int tree_file_open(tree_file *f, const char *path, const tree_options *options, diag *d)
{
    input in;
    int status = input_read(&in, path, NULL, d);
    if (status) {
        memset(f, 0, sizeof *f);
        input_free(&in);
        return status;
    }
    return tree_file_from_input(f, &in, options, d);
}

bool tree_file_more(const tree_file *f)
{
    return f->next < f->count;
}

int tree_file_next_text(tree_file *f, diag *d)
{
    if (!tree_file_more(f))
        return ART_ERR_USAGE;
    f->tree_words.at = f->start[f->next++];
    f->tree_words.d = d;
    return newick_read(&f->text, &f->tree_words);
}

int tree_file_next(tree_file *f, diag *d)
{
    int status = tree_file_next_text(f, d);
    if (!status)
        status = tree_build(&f->tree, &f->builder, &f->text, &f->labels, f->use, &f->in, d);
    if (status)
        return status;
    const char *from = f->text.node[0].from;
    if (f->tree.was_rooted && !f->noted_root) {
        f->noted_root = true;
        diag_note(d, input_place(&f->in, from),
                  "rooted trees: their root is dissolved, its two branches joined");
    }
    if (f->tree.has_negative && !f->noted_negative) {
        f->noted_negative = true;
        diag_note(d, input_place(&f->in, from),
                  "negative branch lengths: only the topology is used");
    }
    return ART_OK;
}

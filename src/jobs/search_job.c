#include "jobs/search_job.h"

#include "artreeformer.h"
#include "base/format.h"
#include "base/host.h"
#include "base/mem.h"
#include "io/output.h"
#include "results/draw.h"
#include "tree/consensus.h"
#include "tree/tree_write.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DRAWN_COLUMNS = 50 };
static const double PIECE_SECONDS = 0.5;

const char *const SEARCH_SUFFIXES[] = {".best.nwk", ".best.trees", ".strict.nwk", ".contree",
                                       ".con.tre",  ".report.txt", NULL};

struct search_job {
    run base;
    parsimony_search_settings set;
    parsimony_gap gap;
    const dataset *data;
    parsimony_search *search;
    interrupt stop;
    bool finish_now;
    int reported_starts; /* at the last report */
    parsimony_stage reported_stage;
};

/* ---- the run ---- */

static search_job *job_of(const run *r)
{
    return (search_job *)(uintptr_t)r;
}

/* The search has got somewhere that is worth a line in the log. */
static bool has_news(const search_job *j, const parsimony_found *f)
{
    return f->starts != j->reported_starts || f->stage != j->reported_stage;
}

/* Steps until there is something to report or the time of a piece is over. */
static int advance(run *r, diag *d)
{
    (void)d;
    search_job *j = job_of(r);
    const double begun = clock_seconds();
    j->stop.deadline =
        r->time_limit > 0 ? begun + fmax(r->time_limit - r->seconds, 0) : (double)INFINITY;
    int status = ART_OK;
    parsimony_found f;
    do {
        status = parsimony_search_step(j->search, &j->stop);
        f = parsimony_search_found(j->search);
    } while (!status && f.stage != STAGE_DONE && !has_news(j, &f) &&
             clock_seconds() - begun < PIECE_SECONDS);
    if (!status && j->finish_now)
        parsimony_search_end(j->search);
    return status;
}

static const char *plural(size_t count)
{
    return count == 1 ? "" : "s";
}

static void progress(const run *r, run_progress *out)
{
    const search_job *j = job_of(r);
    const parsimony_found f = parsimony_search_found(j->search);
    const size_t trees = f.trees->resolved.count;
    const bool is_plateau = f.stage == STAGE_PLATEAU;
    *out = (run_progress){.stage = is_plateau ? "looking for equal trees" : "searching",
                          .unit = is_plateau ? "trees" : "starts",
                          .done = is_plateau ? (double)f.explored : (double)f.starts,
                          .total = is_plateau ? (double)trees : 0,
                          .value = f.score == INT64_MAX ? (double)NAN : (double)f.score,
                          .is_resumable = true,
                          .is_done = f.stage == STAGE_DONE,
                          .is_cut = f.is_cut};
    if (f.score != INT64_MAX)
        snprintf(out->detail, sizeof out->detail, "score %lld, from %d start%s, %zu tree%s",
                 (long long)f.score, f.hits, plural((size_t)f.hits), f.trees->collapsed.count,
                 plural(f.trees->collapsed.count));
    if (is_plateau)
        snprintf(out->place, sizeof out->place, "%zu of %zu equal trees", f.explored, trees);
    else
        snprintf(out->place, sizeof out->place, "start %d, round %d", f.starts, f.round);
}

static int report(run *r, run_report *out)
{
    search_job *j = job_of(r);
    const parsimony_found f = parsimony_search_found(j->search);
    *out = (run_report){.step = f.starts};
    if (!has_news(j, &f))
        return ART_OK;
    const size_t trees = f.trees->collapsed.count;
    if (f.starts != j->reported_starts)
        snprintf(out->text, sizeof out->text,
                 "starts %d to %d: best score %lld, found from %d of %d starts, %zu distinct "
                 "tree%s",
                 j->reported_starts + 1, f.starts, (long long)f.score, f.hits, f.starts, trees,
                 plural(trees));
    else
        snprintf(out->text, sizeof out->text,
                 "neighbours of %zu tree%s looked at: score %lld, %zu distinct tree%s on %d "
                 "island%s%s",
                 f.explored, plural(f.explored), (long long)f.score, trees, plural(trees),
                 f.islands, plural((size_t)f.islands),
                 f.stage != STAGE_STARTS ? ""
                 : f.explored == 0       ? "; this score is better than before, more starts follow"
                                         : "; more starts follow");
    j->reported_starts = f.starts;
    j->reported_stage = f.stage;
    out->metrics = json_pack("{s:I, s:i, s:I, s:I, s:i}", "best_score", (json_int_t)f.score, "hits",
                             f.hits, "best_trees", (json_int_t)trees, "resolved_trees",
                             (json_int_t)f.trees->resolved.count, "islands", (int)f.islands);
    return out->metrics ? ART_OK : ART_ERR_NOMEM;
}

static int fields(run *r, saved_state *s)
{
    search_job *j = job_of(r);
    int status = parsimony_search_fields(j->search, s);
    if (state_loaded(s)) { /* what there was to report was reported before it was saved */
        const parsimony_found f = parsimony_search_found(j->search);
        j->reported_starts = f.starts;
        j->reported_stage = f.stage;
    }
    return status;
}

static void finish_now(run *r)
{
    search_job *j = job_of(r);
    j->finish_now = true;
    if (parsimony_search_found(j->search).score != INT64_MAX)
        parsimony_search_end(j->search);
}

/* The run is part of the job. */
static void free_run(run *r)
{
    (void)r;
}

static const run_ops OPS = {advance, progress, report, fields, finish_now, free_run};

int search_job_create(search_job **out, const dataset *data, parsimony_gap gap,
                      const parsimony_search_settings *settings, pool *threads)
{
    *out = NULL;
    search_job *j = mem_zeros(1, sizeof *j);
    if (!j)
        return ART_ERR_NOMEM;
    j->base.ops = &OPS;
    j->base.keeps_time_limit = true;
    j->set = *settings;
    j->gap = gap;
    j->data = data;
    interrupt_init(&j->stop);
    int status =
        parsimony_search_create(&j->search, &data->alignment, data->row, gap, settings, threads);
    if (status)
        search_job_free(j);
    else
        *out = j;
    return status;
}

void search_job_free(search_job *j)
{
    if (!j)
        return;
    parsimony_search_free(j->search);
    free(j);
}

run *search_job_run(search_job *j)
{
    return &j->base;
}

/* ---- what it found ---- */

void search_result_free(search_result *r)
{
    split_table_free(&r->splits);
    memset(r, 0, sizeof *r);
}

/* Collapsed tree i: one of its resolutions, and the branches that stay. */
static const int32_t *collapsed_tree(bool *keeps, const search_job *j, const search_result *r,
                                     size_t i)
{
    const optimal_trees *o = r->found.trees;
    const int32_t *decision = optimal_tree(o, (size_t)o->first[i]);
    parsimony_search_branches(j->search, keeps, decision);
    return decision;
}

static bool *make_keeps(const search_job *j)
{
    return mem_zeros((size_t)topology_edges(j->data->taxa.count), sizeof(bool));
}

int search_job_finish(search_job *j, search_result *out)
{
    memset(out, 0, sizeof *out);
    const parsimony_found f = out->found = parsimony_search_found(j->search);
    out->is_complete = f.hits >= j->set.hits && f.explored == f.trees->resolved.count &&
                       !f.trees->is_full && !f.is_cut && !f.rare;
    bool *keeps = make_keeps(j);
    int status = keeps ? split_table_init(&out->splits, j->data->taxa.count) : ART_ERR_NOMEM;
    for (size_t i = 0; i < f.trees->collapsed.count && !status; i++) {
        const int32_t *decision = collapsed_tree(keeps, j, out, i);
        status = split_table_add_collapsed(&out->splits, decision, keeps, 1);
    }
    free(keeps);
    return status;
}

void search_job_line(char line[SEARCH_LINE], const search_result *r)
{
    const parsimony_found *f = &r->found;
    const char *why =
        f->trees->is_full ? "; there are more trees than are kept"
        : f->is_cut       ? "; the time limit ended the search early"
        : f->explored < f->trees->resolved.count
            ? "; the search was ended before all their neighbours were looked at"
        : f->rare ? "; some of the trees were found from fewer than two starts, so there may be "
                    "others"
        : !r->is_complete ? "; fewer starts agree than asked for, so there may be a better score"
                          : "; all their neighbours were looked at";
    snprintf(line, SEARCH_LINE, "score %lld, found from %d of %d independent starts%s",
             (long long)f->score, f->hits, f->starts, why);
}

/* The tree with some branches collapsed, as names. */
static int put_collapsed(buffer *out, const search_job *j, const int32_t *decision,
                         const bool *keeps)
{
    split_table splits = {0};
    consensus c = {0};
    int status = split_table_init(&splits, j->data->taxa.count);
    if (!status)
        status = split_table_add_collapsed(&splits, decision, keeps, 1);
    if (!status)
        status = consensus_build(&c, &splits, CONSENSUS_STRICT);
    for (int32_t i = 0; i < c.count; i++)
        c.node[i].support = (double)NAN; /* there is one tree */
    if (!status)
        consensus_write_newick(out, &c, &j->data->taxa);
    consensus_free(&c);
    split_table_free(&splits);
    return status;
}

/* One resolution of each tree, one per line: any program reads them. */
static int put_resolved(buffer *out, const search_job *j, const search_result *r)
{
    const optimal_trees *o = r->found.trees;
    tree_writer writer = {0};
    int status = tree_writer_init(&writer, &j->data->taxa);
    for (size_t i = 0; i < o->collapsed.count && !status; i++) {
        tree_write_newick(out, &writer, optimal_tree(o, (size_t)o->first[i]), NULL);
        buffer_char(out, '\n');
    }
    tree_writer_free(&writer);
    return status;
}

static int put_nexus(buffer *out, const search_job *j, const search_result *r)
{
    bool *keeps = make_keeps(j);
    int status = keeps ? ART_OK : ART_ERR_NOMEM;
    buffer_printf(out,
                  "#NEXUS\n[trees of the least parsimony score found, %lld; branches whose "
                  "greatest length is 0 are collapsed]\n\nbegin trees;\n",
                  (long long)r->found.score);
    for (size_t i = 0; i < r->found.trees->collapsed.count && !status; i++) {
        const int32_t *decision = collapsed_tree(keeps, j, r, i);
        buffer_printf(out, "   tree best_%zu = [&U] ", i + 1);
        status = put_collapsed(out, j, decision, keeps);
        buffer_char(out, '\n');
    }
    buffer_text(out, "end;\n");
    free(keeps);
    return status;
}

static int put_consensus(buffer *out, const search_job *j, const search_result *r,
                         consensus_kind kind, bool is_nexus)
{
    consensus c = {0};
    int status = consensus_build(&c, &r->splits, kind);
    if (!status && is_nexus)
        consensus_write_nexus(out, &c, &j->data->taxa, "majority");
    else if (!status)
        consensus_write_newick(out, &c, &j->data->taxa);
    if (!status && !is_nexus)
        buffer_char(out, '\n');
    consensus_free(&c);
    return status;
}

static int put_strict(buffer *out, const search_job *j, const search_result *r)
{
    return put_consensus(out, j, r, CONSENSUS_STRICT, false);
}

static int put_majority(buffer *out, const search_job *j, const search_result *r)
{
    return put_consensus(out, j, r, CONSENSUS_MAJORITY, false);
}

static int put_figtree(buffer *out, const search_job *j, const search_result *r)
{
    return put_consensus(out, j, r, CONSENSUS_MAJORITY, true);
}

static void put_fact(buffer *out, const char *name, const char *value)
{
    buffer_printf(out, "  %-27s %s\n", name, value);
}

static void put_count(buffer *out, const char *name, int64_t value, const char *more)
{
    buffer_printf(out, "  %-27s %lld%s\n", name, (long long)value, more);
}

int search_job_report(buffer *out, const search_job *j, const search_result *r, const char *source)
{
    const parsimony_found *f = &r->found;
    const char *at_least = f->trees->is_full || f->trees->is_partial ? " (at least)" : "";
    char line[SEARCH_LINE];
    consensus c = {0};
    search_job_line(line, r);
    buffer_printf(out, "ARTreeFormer %s: trees of the least parsimony score\nResult: %s\n\n",
                  art_version(), line);
    put_fact(out, "alignment", source);
    put_count(out, "taxa", j->data->taxa.count, "");
    put_count(out, "sites", (int64_t)j->data->alignment.n_sites, "");
    put_fact(out, "gaps", j->gap == GAP_FIFTH ? "a fifth state" : "missing data");
    buffer_char(out, '\n');
    put_count(out, "score", f->score, "");
    put_count(out, "starts", f->starts, "");
    put_count(out, "starts with this score", f->hits, "");
    put_count(out, "optimal trees", (int64_t)f->trees->collapsed.count,
              f->trees->is_full ? " (at least)" : "");
    put_count(out, "as fully resolved trees", (int64_t)f->trees->resolved.count, at_least);
    put_count(out, "islands", f->islands, "");
    buffer_text(
        out, "\nOptimal trees are counted after branches were collapsed whose greatest length is "
             "0, on\nwhich no most parsimonious reconstruction has a change. An island is a set "
             "of trees that\nrearrangements connect without leaving the score.\n"
             "\nMajority consensus of the optimal trees; numbers are percentages of them\n\n");
    int status = consensus_build(&c, &r->splits, CONSENSUS_MAJORITY);
    if (!status)
        status = draw_tree(out, &c, &j->data->taxa, DRAWN_COLUMNS);
    consensus_free(&c);
    return status ? status : buffer_status(out);
}

int search_job_write(search_job *j, const search_result *r, const char *source, const char *prefix,
                     diag *d)
{
    /* In the order of the suffixes; the report is the last. */
    static int (*const COMPOSE[])(buffer *, const search_job *, const search_result *) = {
        put_resolved, put_nexus, put_strict, put_majority, put_figtree, NULL};
    int status = ART_OK;
    buffer text;
    buffer_init(&text);
    for (int i = 0; SEARCH_SUFFIXES[i] && !status; i++) {
        buffer_clear(&text);
        status = COMPOSE[i] ? COMPOSE[i](&text, j, r) : search_job_report(&text, j, r, source);
        if (!status)
            status = output_result(prefix, SEARCH_SUFFIXES[i], &text, d);
    }
    buffer_free(&text);
    return status;
}

json_t *search_job_results(const search_result *r)
{
    const parsimony_found *f = &r->found;
    return json_pack("{s:s, s:s, s:I, s:I, s:I, s:b, s:b, s:i, s:i, s:i, s:i, s:b}", "model",
                     "parsimony", "method", "search", "best_score", (json_int_t)f->score,
                     "best_trees", (json_int_t)f->trees->collapsed.count, "resolved_trees",
                     (json_int_t)f->trees->resolved.count, "more_trees", f->trees->is_full,
                     "more_resolved_trees", f->trees->is_full || f->trees->is_partial, "starts",
                     f->starts, "starts_with_best_score", f->hits, "islands", (int)f->islands,
                     "rare_islands", (int)f->rare, "is_complete", r->is_complete);
}

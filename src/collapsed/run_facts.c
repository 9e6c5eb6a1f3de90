#include "collapsed/run_facts.h"

#include "artreeformer.h"
#include "base/format.h"
#include "io/json_number.h"

#include <math.h>
#include <stdio.h>

static const char INSTEAD[] =
    "Markov chains over topologies and a density of clades are used instead "
    "of a table of trees, and no network is trained.";

void parameter_words(char text[RUN_WORDS], const branch_posterior *p)
{
    char name[PARAMETER_NAME_SIZE];
    const int n = block_parameters_columns(&p->free);
    size_t used = (size_t)snprintf(text, RUN_WORDS, "The substitution model fits a good tree with");
    for (int i = 0; i < n && used < RUN_WORDS; i++) {
        block_parameters_name(name, &p->free, i);
        used += (size_t)snprintf(text + used, RUN_WORDS - used, "%s %s %.3g", i ? "," : "", name,
                                 block_parameters_value(&p->free, p->centre, i));
    }
    if (used < RUN_WORDS)
        snprintf(text + used, RUN_WORDS - used,
                 "; trees are compared at these values, and the results integrate over them.");
}

static const char WITH_LENGTHS[] = "Markov chains over topologies with their branch lengths sample "
                                   "the posterior. There will be no "
                                   "marginal likelihood, and no network is trained.";

static void joint_words(char text[RUN_WORDS], const rounds *r, posterior_way way)
{
    const int n_taxa = r->problem->n_taxa;
    if (way == WAY_TABLE_THEN_JOINT)
        snprintf(
            text, RUN_WORDS,
            "The weights of the draws are too uneven (branch lengths or parameters are far from "
            "a normal distribution, or trees are lacking in the table), or the lengths of many "
            "trees can be explained in more than one way, so Markov chains over topologies with "
            "their branch lengths sample the posterior. The marginal likelihood will have no error "
            "bar.");
    else if (way == WAY_CHAINS_THEN_JOINT)
        snprintf(
            text, RUN_WORDS,
            "Branch lengths cannot be integrated out well here (the weights of those that were "
            "drawn are too uneven, or the lengths of many trees can be explained in more than "
            "one way), so Markov chains over topologies with their branch lengths sample the "
            "posterior. The marginal likelihood will have no error bar.");
    else if (n_taxa > r->set.joint.taxa)
        snprintf(text, RUN_WORDS,
                 "%d taxa are too many for integrating out branch lengths (more than %d), so %s",
                 n_taxa, r->set.joint.taxa, WITH_LENGTHS);
    else
        snprintf(text, RUN_WORDS,
                 "Branch lengths cannot be integrated out reliably here (neighbouring branches "
                 "without a change leave each other's length open), so %s",
                 WITH_LENGTHS);
}

void way_words(char text[RUN_WORDS], const rounds *r, posterior_way way, bool is_cut)
{
    const int n_taxa = r->problem->n_taxa;
    const bool chains = way == WAY_CHAINS;
    char count[FORMAT_ITEMS];
    if (way != WAY_TABLE && way != WAY_CHAINS)
        joint_words(text, r, way);
    else if (chains && n_taxa > r->set.route.table_taxa)
        snprintf(text, RUN_WORDS, "%d taxa are too many for a table (more than %d), so %s", n_taxa,
                 r->set.route.table_taxa, INSTEAD);
    else if (chains && r->n_rounds > 0)
        snprintf(
            text, RUN_WORDS,
            "The table of trees is not complete (draws still find other probable trees), so %s",
            INSTEAD);
    else if (chains && tree_search_counts(r->search)->expanded < r->set.route.expansions)
        snprintf(text, RUN_WORDS, "The search did not finish in its share of the time limit, so %s",
                 INSTEAD);
    else if (chains)
        snprintf(text, RUN_WORDS,
                 "The posterior is diffuse (after %s the search had not finished), so %s",
                 format_items(count, sizeof count,
                              (uint64_t)tree_search_counts(r->search)->expanded, "tree", "trees"),
                 INSTEAD);
    else if (!is_cut && tree_search_counts(r->search)->expanded >= r->set.route.expansions &&
             r->n_rounds == 0)
        snprintf(text, RUN_WORDS,
                 "The posterior is concentrated (trees around which the search has not looked have "
                 "%.1g of the weight found): a table of %s holds nearly all of it.",
                 tree_search_unexpanded(r->search),
                 format_items(count, sizeof count, r->table.count, "tree", "trees"));
    else
        snprintf(text, RUN_WORDS,
                 is_cut ? "The search did not finish, so whether the posterior is "
                          "concentrated is not known: a table of %s has what was found."
                        : "The posterior is concentrated (the search finished): a table of "
                          "%s holds it.",
                 format_items(count, sizeof count, r->table.count, "tree", "trees"));
}

void round_words(char text[RUN_WORDS], int number, const round_figures *r,
                 const collapsed_settings *set)
{
    char trees[FORMAT_ITEMS], missed[96] = "";
    if (r->missed > 0)
        snprintf(missed, sizeof missed, "; %.2g of it did not fit in the table", r->missed);
    snprintf(
        text, RUN_WORDS,
        "round %d: a table of %s, log evidence about %.1f, by draws of the network %.1f. Trees "
        "that the draws added have %.1g of the posterior (%s: at most %.2g is wanted)%s. %s",
        number, format_items(trees, sizeof trees, (uint64_t)r->trees, "tree", "trees"),
        r->log_table, r->log_network, r->new_mass,
        r->new_mass <= set->rounds.new_mass ? "good" : "too much", set->rounds.new_mass, missed,
        r->done == 0             ? "Another round follows."
        : r->error <= set->error ? "That is enough: all criteria are met."
                                 : "The table is full; the final sampling corrects for the "
                                   "missing trees.");
}

json_t *round_json(const round_figures *r)
{
    json_t *out = json_pack("{s:I, s:I, s:f, s:I}", "table_trees", (json_int_t)r->trees,
                            "fit_steps", (json_int_t)r->steps, "log_evidence_table", r->log_table,
                            "new_trees", (json_int_t)r->new_trees);
    if (out) {
        json_set_number(out, "log_evidence_network", r->log_network);
        json_set_number(out, "log_evidence_network_se", r->network_error);
        json_set_number(out, "new_weight", r->new_mass);
        json_set_number(out, "missed_weight", r->missed);
        json_set_number(out, "fit_kl", r->fit_kl);
        json_set_number(out, "expected_se", r->error);
        json_object_set_new(out, "criteria_hold", json_boolean(r->done != 0));
    }
    return out;
}

/* How far the chains agree after a round; more: what else is known. */
static void agreement_words(char text[RUN_WORDS], int number, const chain_round *r,
                            const chain_round_settings *wanted, const char *more, bool is_enough)
{
    char blocks[FORMAT_ITEMS];
    snprintf(
        text, RUN_WORDS,
        "chains, round %d: %s each; split frequencies of the chains differ by %.3f (%s: target "
        "%.3f), R-hat %.3f (%s: target %.2f), worth %.0f independent trees%s. %s",
        number, format_items(blocks, sizeof blocks, (uint64_t)r->blocks, "block", "blocks"),
        r->asdsf, r->asdsf <= wanted->asdsf ? "good" : "too much", wanted->asdsf, r->r_hat,
        r->r_hat <= wanted->r_hat ? "good" : "too large", wanted->r_hat, chain_round_ess(r), more,
        is_enough ? "That is enough: all criteria are met." : "That is not enough yet.");
}

void chain_round_words(char text[RUN_WORDS], int number, const chain_round *r,
                       const chain_stage *chains)
{
    const chain_stage_settings *set = &chains->set;
    char known[128] = "";
    if (isfinite(r->log_sum))
        snprintf(known, sizeof known,
                 "; log evidence about %.1f (error of the chains %.3f, target %.3f)",
                 r->log_sum - log_topologies(chains->problem->n_taxa) +
                     branch_posterior_parameter_term(chains->problem),
                 r->error, set->error);
    agreement_words(text, number, r, &set->rounds, known, chain_stage_is_enough(chains, r));
}

void joint_round_words(char text[RUN_WORDS], int number, const chain_round *r,
                       const joint_stage *chains)
{
    const joint_stage_settings *set = &chains->set;
    char wanted[64];
    snprintf(wanted, sizeof wanted, " (%.0f are wanted)", set->ess);
    agreement_words(text, number, r, &set->rounds, wanted, joint_stage_is_enough(chains, r));
}

json_t *chain_round_json(const chain_round *r)
{
    json_t *out = json_pack("{s:I, s:I}", "chain_blocks", (json_int_t)r->blocks, "chain_states",
                            (json_int_t)r->states);
    if (out) {
        json_set_number(out, "mean_log_density", r->mean);
        json_set_number(out, "asdsf", r->asdsf);
        json_set_number(out, "largest_split_deviation", r->largest);
        json_set_number(out, "r_hat", r->r_hat);
        json_set_number(out, "ess_log_density", r->ess_values);
        json_set_number(out, "ess_splits", r->ess_splits);
        json_set_number(out, "ess_between_chains", r->ess_between);
        json_set_number(out, "overlap", r->overlap);
        json_set_number(out, "log_sum", r->log_sum);
        json_set_number(out, "log_sum_se", r->error);
    }
    return out;
}

/* Numbers under their keys; NULL instead of an object that is not whole. */
typedef struct named {
    const char *key;
    double value;
} named;

static json_t *with_numbers(json_t *out, const named *number, size_t count)
{
    int status = out ? ART_OK : ART_ERR_NOMEM;
    for (size_t i = 0; i < count && !status; i++)
        status = json_set_number(out, number[i].key, number[i].value);
    if (!status)
        return out;
    json_decref(out);
    return NULL;
}

/* What both ways have. */
static json_t *common_facts(const rounds *r, posterior_way way, const answer *found)
{
    const search_counts *n = tree_search_counts(r->search);
    const tree_set *trees = &found->posterior.trees;
    char words[RUN_WORDS];
    const char *const name = way == WAY_TABLE    ? "table"
                             : way == WAY_CHAINS ? "chains"
                                                 : "chains with branch lengths";
    way_words(words, r, way, found->evidence.unfinished);
    json_t *out =
        json_pack("{s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I}", "method", "collapsed", "way",
                  name, "way_reason", words, "explore_starts", (json_int_t)n->starts,
                  "explore_peaks", (json_int_t)n->peaks, "explore_scored", (json_int_t)n->scored,
                  "explore_fitted", (json_int_t)n->fitted, "failed_draws",
                  (json_int_t)found->evidence.failed, "trees_met", (json_int_t)trees->count);
    const named number[] = {{"explore_found", tree_search_found(r->search)},
                            {"trees_met_share", trees->share}};
    return with_numbers(out, number, 2);
}

static json_t *merged(json_t *out, json_t *more)
{
    const bool is_whole = out && more && !json_object_update(out, more);
    json_decref(more);
    if (is_whole)
        return out;
    json_decref(out);
    return NULL;
}

json_t *table_facts(const rounds *r, const answer *found)
{
    const evidence shown = verdict_shown(&found->verdict, &found->evidence);
    const named number[] = {{"log_evidence_table", rounds_log_table(r)},
                            {"outside_weight", shown.outside},
                            {"outside_weight_se", shown.outside_se}};
    json_t *all = json_array();
    for (int i = 0; i < r->n_rounds; i++)
        json_array_append_new(all, round_json(&r->round[i]));
    json_t *own = json_pack("{s:I, s:I, s:I, s:o}", "steps", (json_int_t)network_fit_steps(&r->fit),
                            "table_trees", (json_int_t)r->table.count, "table_evicted",
                            (json_int_t)r->table.evicted, "rounds", all);
    return merged(common_facts(r, WAY_TABLE, found),
                  with_numbers(own, number, sizeof number / sizeof *number));
}

/* What chains of either kind have. */
static json_t *chains_json(int n_chains, const chain_rounds *x)
{
    json_t *all = json_array();
    for (int i = 0; i < x->count; i++)
        json_array_append_new(all, chain_round_json(&x->round[i]));
    return json_pack("{s:i, s:I, s:o}", "chains", n_chains, "chain_blocks", (json_int_t)x->blocks,
                     "chain_rounds", all);
}

json_t *chain_facts(const rounds *r, const chain_stage *chains, const chain_check *check,
                    const answer *found)
{
    const named number[] = {{"overlap", check->overlap},
                            {"effective_draws", check->draw_ess},
                            {"effective_states", check->state_ess},
                            {"draws_log_difference", check->forward},
                            {"draws_log_difference_se", check->forward_error},
                            {"draws_pareto_k", check->pareto_k},
                            {"se_trees", check->tree_error},
                            {"se_lengths", check->ratio_error}};
    json_t *own = chains_json(chains->set.chains, &chains->rounds);
    return merged(common_facts(r, WAY_CHAINS, found),
                  with_numbers(own, number, sizeof number / sizeof *number));
}

json_t *joint_facts(const rounds *r, posterior_way way, const joint_stage *chains,
                    const answer *found)
{
    return merged(common_facts(r, way, found), chains_json(chains->set.chains, &chains->rounds));
}

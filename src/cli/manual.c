#include "cli/manual.h"

#include "artreeformer.h"
#include "cli/help.h"

static bool is_general(const option *row)
{
    for (const option *r = COMMON_MESSAGES; r->kind != OPTION_KIND_END; r++)
        if (r == row)
            return true;
    return false;
}

static void put_roff(output *o, const char *text)
{
    if (*text == '.' || *text == '\'')
        output_text(o, "\\&");
    for (; *text; text++) {
        if (*text == '-')
            output_text(o, "\\-");
        else if (*text == '\\')
            output_text(o, "\\e");
        else
            output_write(o, text, 1);
    }
}

static void put_roff_option(output *o, const option_set *s, const option_item *item)
{
    char name[OPTION_NAME], value[OPTION_VALUE];
    output_text(o, ".TP\n");
    for (int k = 0; option_name(name, item->row, k, false); k++) {
        output_text(o, k ? ", \\fB" : "\\fB");
        put_roff(o, name);
        output_text(o, "\\fR");
    }
    if (item->row->value && !option_is_positional(item->row)) {
        output_text(o, " \\fI");
        put_roff(o, item->row->value);
        output_text(o, "\\fR");
    }
    output_text(o, "\n");
    put_roff(o, item->row->help);
    option_value(value, s, item);
    if (value[0]) {
        output_text(o, " [");
        put_roff(o, value);
        output_text(o, "]");
    }
    output_text(o, item->row->trait & REQUIRED ? " (required)\n" : "\n");
}

static int put_roff_command(output *o, const command *c)
{
    option_set s;
    int status = options_init(&s, c->options, c->defaults, c->size);
    output_printf(o, ".SS %s\n", c->name);
    put_roff(o, c->summary);
    output_text(o, ".\n.PP\n.RS 4\n.nf\n");
    help_usage(o, &s, c->name);
    output_text(o, "\n.fi\n.RE\n.PP\n");
    put_roff(o, c->description);
    output_text(o, "\n");
    for (int i = 0; i < s.count; i++)
        if (!is_general(s.item[i].row))
            put_roff_option(o, &s, &s.item[i]);
    options_free(&s);
    return status;
}

static int put_roff_general(output *o)
{
    static const common_settings common = COMMON_DEFAULTS;
    option_set s;
    int status = options_init(&s, COMMON_MESSAGES, &common, sizeof common);
    output_text(o, ".SH GENERAL OPTIONS\nEvery command has these.\n");
    for (int i = 0; i < s.count; i++)
        put_roff_option(o, &s, &s.item[i]);
    options_free(&s);
    return status;
}

static const char *const FILES[][2] = {
    {".report.html, .report.txt", "The result on one page, for the browser and the terminal."},
    {".model.safetensors", "The trained model."},
    {".ckp.safetensors", "Checkpoint of a run that is not finished."},
    {".trees", "Posterior sample of trees with equal weights, NEXUS."},
    {".trprobs", "Topologies with their posterior probabilities, in the format of MrBayes."},
    {".contree", "Consensus tree with supports from 0 to 1, Newick."},
    {".con.tre", "The same with annotations, NEXUS, for FigTree."},
    {".map.nwk", "The most probable topology."},
    {".splits.tsv", "Splits with their posterior probabilities and branch lengths."},
    {".trace.tsv", "One line per sampled tree, for Tracer."},
    {".p, .t", "The same sample as MrBayes writes it: parameters, and trees."},
    {".models.tsv", "Averages over models: the models with their evidence and probability."},
    {".metrics.jsonl", "One line per round, or per report interval of training."},
    {".best.nwk, .scores.tsv",
     "Parsimony: the best trees; sampled trees with their score and log q."},
    {".json", "The results and settings, beginning with whether the run has converged."},
    {".log", "All messages."},
};

static const char *const EXAMPLES[] = {
    "artreeformer check -s primates.fasta",
    "artreeformer infer -s primates.fasta -m GTR+I+G4",
    "artreeformer infer -s primates.fasta -m 'HKY{2.5}+F+G4{0.5}' --prefix fixed",
    "artreeformer summarize run1.t run2.t --burnin 0.25 --prefix both",
    "artreeformer compare run1.t --with run2.t --burnin 0.25",
    "artreeformer simulate --taxa 12 --sites 500 --seed 7 --prefix demo",
};

static const char *const EXIT_STATUS[][2] = {
    {"0", "Success; also if a run that is already finished is started again, and if a result has "
          "not converged, which the first line after the run says, as do the report and .json."},
    {"1", "Failure during the run, such as a full disk or lack of memory."},
    {"2", "Invalid usage or input; the message explains it."},
    {"3", "Results exist and \\-\\-redo was not given."},
    {"4", "Numerical failure."},
    {"75", "Stopped by a signal or at \\-\\-time\\-limit, with a checkpoint: the same command "
           "resumes the run."},
};

int manual_page(output *o)
{
    int status = ART_OK;
    output_printf(o, ".TH ARTREEFORMER 1 \"\" \"artreeformer %s\" \"User Commands\"\n",
                  art_version());
    output_text(
        o,
        ".SH NAME\nartreeformer \\- Bayesian inference of evolutionary trees\n.SH "
        "SYNOPSIS\n\\fBartreeformer\\fR \\fICOMMAND\\fR [\\fIoptions\\fR]\n.SH DESCRIPTION\nInfers "
        "phylogenetic trees from nucleotide alignments with autoregressive models of tree "
        "topologies.\nAlignments can be in FASTA, PHYLIP, NEXUS, Clustal, MSF or Stockholm format, "
        "trees in Newick or NEXUS format, gzipped or not; the format is detected from the content, "
        "and \\- is standard "
        "input.\nResults go to files \\fIprefix\\fR.* or, where they are a table, to standard "
        "output; messages go to standard error and \\fIprefix\\fR.log.\n.SH COMMANDS\n");
    for (const command *const *c = COMMANDS; *c && status == ART_OK; c++)
        status = put_roff_command(o, *c);
    if (status == ART_OK)
        status = put_roff_general(o);
    output_text(o, ".SH FILES\n");
    for (size_t i = 0; i < sizeof FILES / sizeof FILES[0]; i++)
        output_printf(o, ".TP\n\\fIprefix\\fR%s\n%s\n", FILES[i][0], FILES[i][1]);
    output_text(o, ".SH EXIT STATUS\n");
    for (size_t i = 0; i < sizeof EXIT_STATUS / sizeof EXIT_STATUS[0]; i++)
        output_printf(o, ".TP\n%s\n%s\n", EXIT_STATUS[i][0], EXIT_STATUS[i][1]);
    output_text(o, ".SH EXAMPLES\n.nf\n");
    for (size_t i = 0; i < sizeof EXAMPLES / sizeof EXAMPLES[0]; i++) {
        put_roff(o, EXAMPLES[i]);
        output_text(o, "\n");
    }
    output_text(o, ".fi\n");
    output_text(o, ".SH ENVIRONMENT\n.TP\nNO_COLOR\nIf set, messages have no colour.\n");
    return status;
}

#include "cli/dataset_options.h"

const option DATASET_OPTIONS[] = {
    OPTION_FILE(dataset_settings, alignment, "-s --msa", REQUIRED | LOCAL,
                "alignment: FASTA, PHYLIP, NEXUS, Clustal, MSF or Stockholm, gzipped or not; - is "
                "standard input"),
    OPTION_FLAG(dataset_settings, phylip_strict, "--phylip-strict", EXPERT,
                "PHYLIP names are the first ten columns, also where a file can be read otherwise"),
    OPTION_FLAG(dataset_settings, full_names, "--full-names", OPTIONAL,
                "FASTA names are the whole header line, not only the first word"),
    OPTION_FILE(dataset_settings, order, "--taxon-order", LOCAL | EXPERT,
                "file with all taxon names, one per line, in the order in which taxa are attached "
                "(default: lexicographic)"),
    OPTION_END,
};

int dataset_open(dataset *data, const dataset_settings *settings, diag *d)
{
    const alignment_options options = {.phylip_strict = settings->phylip_strict,
                                       .full_names = settings->full_names};
    return dataset_read(data, settings->alignment, &options, settings->order, d);
}

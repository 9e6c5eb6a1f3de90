#include "seq/alignment_write.h"

#include "artreeformer.h"
#include "io/nexus.h"
#include "seq/symbols.h"

#include <string.h>

enum { FASTA_WIDTH = 80 };

/* Would a reader of the format find this name again? */
static bool can_hold(alignment_format format, const char *name)
{
    size_t n = strlen(name);
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)name[i] < ' ' || name[i] == 0x7F)
            return false;
    if (n == 0 || (format == ALIGNMENT_PHYLIP && strchr(name, ' ')))
        return false;
    return format != ALIGNMENT_FASTA || (name[0] != ' ' && name[n - 1] != ' ');
}

/* Sites first .. end-1 of a row. */
static void write_sites(buffer *out, const alignment *a, int row, size_t first, size_t end)
{
    const uint8_t *state = a->state + (size_t)row * a->n_patterns;
    for (size_t j = first; j < end; j++)
        buffer_char(out, symbol_of_state(state[a->site_pattern[j]]));
    buffer_char(out, '\n');
}

static void write_fasta(buffer *out, const alignment *a)
{
    for (int i = 0; i < a->n_taxa; i++) {
        buffer_printf(out, ">%s\n", a->name[i]);
        for (size_t j = 0; j < a->n_sites; j += FASTA_WIDTH)
            write_sites(out, a, i, j, a->n_sites - j < FASTA_WIDTH ? a->n_sites : j + FASTA_WIDTH);
    }
}

static void write_phylip(buffer *out, const alignment *a)
{
    buffer_printf(out, "%d %zu\n", a->n_taxa, a->n_sites);
    for (int i = 0; i < a->n_taxa; i++) {
        buffer_printf(out, "%s ", a->name[i]);
        write_sites(out, a, i, 0, a->n_sites);
    }
}

static void write_nexus(buffer *out, const alignment *a)
{
    buffer_printf(out,
                  "#NEXUS\nbegin data;\n"
                  "    dimensions ntax=%d nchar=%zu;\n"
                  "    format datatype=dna missing=? gap=-;\n"
                  "    matrix\n",
                  a->n_taxa, a->n_sites);
    for (int i = 0; i < a->n_taxa; i++) {
        nexus_write_name(out, a->name[i], QUOTE_NEXUS);
        buffer_char(out, ' ');
        write_sites(out, a, i, 0, a->n_sites);
    }
    buffer_text(out, "    ;\nend;\n");
}

/* Most programs, and this one unless told otherwise, take the first word for the name. */
static void warn_of_blanks(const alignment *a, diag *d)
{
    char shown[96];
    for (int i = 0; i < a->n_taxa; i++)
        if (strchr(a->name[i], ' ')) {
            diag_warning(d, (diag_place){0},
                         "the name %s contains spaces, but names in FASTA end at a space -- choose "
                         "NEXUS, or read the file with full names",
                         diag_quote(shown, sizeof shown, a->name[i], strlen(a->name[i])));
            diag_advise(d, ADVICE_FULL_NAMES);
            return;
        }
}

int alignment_write(buffer *out, const alignment *a, alignment_format format, diag *d)
{
    char shown[96];
    for (int i = 0; i < a->n_taxa; i++)
        if (!can_hold(format, a->name[i]))
            return diag_error(d, ART_ERR_UNSUPPORTED, (diag_place){0},
                              "%s cannot hold the name %s -- choose another format or name",
                              alignment_format_name(format),
                              diag_quote(shown, sizeof shown, a->name[i], strlen(a->name[i])));
    if (format == ALIGNMENT_FASTA) {
        warn_of_blanks(a, d);
        write_fasta(out, a);
    } else if (format == ALIGNMENT_PHYLIP)
        write_phylip(out, a);
    else if (format == ALIGNMENT_NEXUS)
        write_nexus(out, a);
    else
        return ART_ERR_USAGE;
    return buffer_status(out);
}

#include "cli/help.h"

#include "artreeformer.h"
#include "base/format.h"

#include <stdio.h>
#include <string.h>

enum { COLUMN = 28, WIDTH = 96 };

help_extent help_wanted(int argc, char *const *argv)
{
    help_extent wanted = HELP_NONE;
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--help-all") == 0)
            wanted = HELP_ALL;
        else if (wanted == HELP_NONE &&
                 (strcmp(argv[i], "-h") == 0 || strcmp(argv[i], "--help") == 0))
            wanted = HELP_SHORT;
    return wanted;
}

/* Text wrapped at spaces to WIDTH, every line except the first indented. */
static void put_wrapped(output *o, const char *text, int indent)
{
    int column = indent;
    while (*text) {
        size_t n = strcspn(text, " ");
        if (column > indent && column + 1 + (int)n > WIDTH) {
            output_printf(o, "\n%*s", indent, "");
            column = indent;
        } else if (column > indent) {
            output_text(o, " ");
            column++;
        }
        output_write(o, text, n);
        column += (int)n;
        text += n;
        text += strspn(text, " ");
    }
    output_text(o, "\n");
}

void help_program(output *o)
{
    output_text(o, "artreeformer: Bayesian inference of evolutionary trees\n\n"
                   "usage: artreeformer COMMAND [options]\n\n");
    for (const command *const *c = COMMANDS; *c; c++) {
        output_printf(o, "  %-12s", (*c)->name);
        put_wrapped(o, (*c)->summary, 14);
    }
    output_text(o, "\nartreeformer COMMAND -h          explains a command and its options\n"
                   "artreeformer COMMAND --help-all  the same with the options for experts\n"
                   "artreeformer --version           version, instruction set, compiler\n");
}

void help_usage(output *o, const option_set *s, const char *name)
{
    output_printf(o, "artreeformer %s", name);
    const option *rest = NULL;
    for (int i = 0; i < s->count; i++) {
        const option *row = s->item[i].row;
        if (option_is_positional(row))
            rest = row;
        else if (row->trait & REQUIRED)
            output_printf(o, " %.*s %s", (int)strcspn(row->names, " "), row->names, row->value);
    }
    output_text(o, " [options]");
    if (rest)
        output_printf(o, rest->trait & REQUIRED ? " %s..." : " [%s...]", rest->names);
}

static void put_option(output *o, const option_set *s, const option_item *item)
{
    char left[160] = "  ", name[OPTION_NAME], value[OPTION_VALUE], text[512];
    const option *row = item->row;
    for (int k = 0; option_name(name, row, k, false); k++)
        snprintf(left + strlen(left), sizeof left - strlen(left), "%s%s", k ? ", " : "", name);
    if (option_is_positional(row))
        strcat(left, "...");
    else if (row->value)
        snprintf(left + strlen(left), sizeof left - strlen(left), " %s", row->value);
    output_printf(o, "%-*s", COLUMN, left);
    if (strlen(left) >= COLUMN)
        output_printf(o, "\n%*s", COLUMN, "");
    option_value(value, s, item);
    if (value[0])
        snprintf(text, sizeof text, "%s [%s]", row->help, value);
    else
        snprintf(text, sizeof text, "%s%s", row->help, row->trait & REQUIRED ? " (required)" : "");
    put_wrapped(o, text, COLUMN);
}

int help_command(output *o, const command *c, help_extent extent)
{
    option_set s;
    int left_out = 0;
    int status = options_init(&s, c->options, c->defaults, c->size);
    output_printf(o, "%s: %s\n\nusage: ", c->name, c->summary);
    help_usage(o, &s, c->name);
    output_text(o, "\n\n");
    put_wrapped(o, c->description, 0);
    const char *heading = NULL;
    for (int i = 0; i < s.count; i++) {
        if (s.item[i].expert && extent != HELP_ALL) {
            left_out++;
            continue;
        }
        if (!heading || strcmp(s.item[i].heading, heading) != 0)
            output_printf(o, "\n%s:\n", s.item[i].heading);
        heading = s.item[i].heading;
        put_option(o, &s, &s.item[i]);
    }
    if (left_out)
        output_printf(o, "\n%d more %s, for experts: artreeformer %s --help-all\n", left_out,
                      format_noun((uint64_t)left_out, "option", "options"), c->name);
    options_free(&s);
    return status;
}

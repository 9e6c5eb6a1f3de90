#include "cli/completion.h"

#include "artreeformer.h"
#include "cli/command.h"

#include <string.h>

static bool takes_file(const option *row)
{
    return row->kind == OPTION_KIND_FILE || row->kind == OPTION_KIND_FILES;
}

/* What can be offered as values: the choices, AUTO, or NULL. */
static const char *value_words(const option *row)
{
    return row->kind == OPTION_KIND_CHOICE    ? row->value
           : row->kind == OPTION_KIND_THREADS ? "AUTO"
                                              : NULL;
}

/* Calls put for every command, with its options. */
static int for_commands(output *o, void (*put)(output *, const command *, const option_set *))
{
    int status = ART_OK;
    for (const command *const *c = COMMANDS; *c && status == ART_OK; c++) {
        option_set s;
        status = options_init(&s, (*c)->options, (*c)->defaults, (*c)->size);
        if (status == ART_OK)
            put(o, *c, &s);
        options_free(&s);
    }
    return status;
}

/* The choices "a|b|c" as words. */
static void put_choices(output *o, const char *choices)
{
    for (; *choices; choices++)
        output_write(o, *choices == '|' ? " " : choices, 1);
}

/* All names of an option, each with something before it, and something in between. */
static void put_names(output *o, const option *row, const char *before, const char *between)
{
    char name[OPTION_NAME];
    for (int k = 0; option_name(name, row, k, false); k++)
        output_printf(o, "%s%s%s", k ? between : "", before, name);
}

/* Text inside '...', with the characters of `escape` preceded by a backslash. */
static void put_quoted(output *o, const char *text, const char *escape)
{
    for (; *text; text++) {
        if (strchr(escape, *text))
            output_text(o, "\\");
        if (*text == '\'')
            output_text(o, "'\\'");
        output_write(o, text, 1);
    }
}

static void bash_command(output *o, const command *c, const option_set *s)
{
    output_printf(o, "    %s)\n        case $before in\n", c->name);
    for (int i = 0; i < s->count; i++) {
        const option *row = s->item[i].row;
        if (option_is_positional(row) || row->kind == OPTION_KIND_FLAG)
            continue;
        output_text(o, "        ");
        put_names(o, row, "", "|");
        output_text(o, ") ");
        if (value_words(row)) {
            output_text(o, "COMPREPLY=($(compgen -W '");
            put_choices(o, value_words(row));
            output_text(o, "' -- \"$word\")); ");
        } else if (takes_file(row)) {
            output_text(o, "COMPREPLY=($(compgen -f -- \"$word\")); ");
        }
        output_text(o, "return ;;\n");
    }
    output_text(o, "        esac\n        names='");
    for (int i = 0; i < s->count; i++)
        if (!option_is_positional(s->item[i].row))
            put_names(o, s->item[i].row, " ", "");
    output_text(o, "' ;;\n");
}

static int bash_completion(output *o)
{
    output_text(o, "# bash completion for artreeformer\n_artreeformer() {\n"
                   "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} "
                   "names=\n    COMPREPLY=()\n"
                   "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
                   "        COMPREPLY=($(compgen -W '--help --version");
    for (const command *const *c = COMMANDS; *c; c++)
        output_printf(o, " %s", (*c)->name);
    output_text(o, "' -- \"$word\"))\n        return\n    fi\n    case ${COMP_WORDS[1]} in\n");
    int status = for_commands(o, bash_command);
    output_text(o, "    esac\n    case $word in\n"
                   "    -*) COMPREPLY=($(compgen -W \"$names\" -- \"$word\")) ;;\n"
                   "    *) COMPREPLY=($(compgen -f -- \"$word\")) ;;\n    esac\n}\n"
                   "complete -o filenames -F _artreeformer artreeformer\n");
    return status;
}

static void zsh_option(output *o, const option *row)
{
    char name[OPTION_NAME];
    for (int k = 0; option_name(name, row, k, false); k++) {
        output_printf(o, " \\\n            '%s%s[", row->kind == OPTION_KIND_FILES ? "*" : "",
                      name);
        put_quoted(o, row->help, "[]:\\");
        output_text(o, "]");
        if (row->kind != OPTION_KIND_FLAG) {
            output_text(o, ":value:");
            if (value_words(row)) {
                output_text(o, "(");
                put_choices(o, value_words(row));
                output_text(o, ")");
            } else if (takes_file(row)) {
                output_text(o, "_files");
            }
        }
        output_text(o, "'");
    }
}

static void zsh_command(output *o, const command *c, const option_set *s)
{
    output_printf(o, "    %s)\n        _arguments", c->name);
    for (int i = 0; i < s->count; i++) {
        if (option_is_positional(s->item[i].row))
            output_text(o, " \\\n            '*:file:_files'");
        else
            zsh_option(o, s->item[i].row);
    }
    output_text(o, " ;;\n");
}

static int zsh_completion(output *o)
{
    output_text(o, "#compdef artreeformer\n_artreeformer() {\n    local -a commands=(\n");
    for (const command *const *c = COMMANDS; *c; c++) {
        output_printf(o, "        '%s:", (*c)->name);
        put_quoted(o, (*c)->summary, ":\\");
        output_text(o, "'\n");
    }
    output_text(o, "    )\n    if (( CURRENT == 2 )); then\n"
                   "        _describe command commands\n        return\n    fi\n"
                   "    local command=$words[2]\n    shift words\n    (( CURRENT-- ))\n"
                   "    case $command in\n");
    int status = for_commands(o, zsh_command);
    output_text(o, "    esac\n}\n_artreeformer \"$@\"\n");
    return status;
}

static void fish_option(output *o, const command *c, const option *row)
{
    char name[OPTION_NAME];
    output_printf(o, "complete -c artreeformer -n '__fish_seen_subcommand_from %s'", c->name);
    for (int k = 0; option_name(name, row, k, false); k++) {
        size_t dashes = strspn(name, "-");
        const char *kind = dashes == 2 ? "l" : strlen(name) == 2 ? "s" : "o";
        output_printf(o, " -%s %s", kind, name + dashes);
    }
    output_text(o, " -d '");
    put_quoted(o, row->help, "");
    output_text(o, "'");
    if (value_words(row)) {
        output_text(o, " -x -a '");
        put_choices(o, value_words(row));
        output_text(o, "'");
    } else if (row->kind != OPTION_KIND_FLAG) {
        output_text(o, takes_file(row) ? " -r -F" : " -x");
    }
    output_text(o, "\n");
}

static void fish_command(output *o, const command *c, const option_set *s)
{
    output_printf(o, "complete -c artreeformer -n __fish_use_subcommand -f -a %s -d '", c->name);
    put_quoted(o, c->summary, "");
    output_text(o, "'\n");
    for (int i = 0; i < s->count; i++)
        if (!option_is_positional(s->item[i].row))
            fish_option(o, c, s->item[i].row);
}

static int fish_completion(output *o)
{
    output_text(o, "# fish completion for artreeformer\n");
    return for_commands(o, fish_command);
}

int completion_script(output *o, const char *shell)
{
    if (strcmp(shell, "bash") == 0)
        return bash_completion(o);
    if (strcmp(shell, "zsh") == 0)
        return zsh_completion(o);
    if (strcmp(shell, "fish") == 0)
        return fish_completion(o);
    return ART_ERR_USAGE;
}

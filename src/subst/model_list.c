#include "subst/model_list.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "subst/prior_string.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

const char MODEL_LIST_AUTO[] = "auto";

static const char AUTO[] = "JC,JC+I,JC+G4,JC+I+G4,K80,K80+I,K80+G4,K80+I+G4,F81,F81+I,F81+G4,"
                           "F81+I+G4,HKY,HKY+I,HKY+G4,HKY+I+G4,SYM,SYM+I,SYM+G4,SYM+I+G4,GTR,"
                           "GTR+I,GTR+G4,GTR+I+G4";

typedef struct list {
    const alignment *a;
    diag *d;
    model_priors priors;
    free_model *model; /* [MODEL_LIST_MOST] */
    int count;
} list;

static int add_list(list *l, const char *text);

/* Two texts may say the same: K2P and K80. */
static int refuse_twice(const list *l, const free_model *f)
{
    char before[MODEL_STRING_SIZE], now[MODEL_STRING_SIZE];
    free_model_print(now, f);
    for (int i = 0; i < l->count; i++)
        if (strcmp(free_model_print(before, &l->model[i]), now) == 0)
            return diag_error(l->d, ART_ERR_USAGE, (diag_place){0},
                              "the model %s is given twice, and would count twice -- give every "
                              "model once",
                              now);
    return ART_OK;
}

static int add_model(list *l, const char *text)
{
    free_model f;
    if (strcasecmp(text, MODEL_LIST_AUTO) == 0)
        return add_list(l, AUTO);
    if (!*text)
        return diag_error(l->d, ART_ERR_USAGE, (diag_place){0},
                          "the list of models has an empty part -- separate models by single "
                          "commas, such as HKY+G4,GTR+G4");
    if (l->count == MODEL_LIST_MOST)
        return diag_error(l->d, ART_ERR_USAGE, (diag_place){0},
                          "there are more than %d models -- give fewer", MODEL_LIST_MOST);
    int status = free_model_parse(&f, text, l->a, &l->priors, l->d);
    if (!status)
        status = refuse_twice(l, &f);
    if (!status)
        l->model[l->count++] = f;
    return status;
}

/* The end of the part that begins at text: a comma outside braces, or the end. */
static const char *part_end(const char *text)
{
    int depth = 0;
    for (; *text && (*text != ',' || depth > 0); text++)
        depth += (*text == '{') - (*text == '}');
    return text;
}

static int add_list(list *l, const char *text)
{
    for (;; text++) {
        const char *comma = part_end(text), *end = comma;
        while (isspace((unsigned char)*text))
            text++;
        while (end > text && isspace((unsigned char)end[-1]))
            end--;
        char *one = mem_text(text, end > text ? (size_t)(end - text) : 0);
        int status = one ? add_model(l, one) : ART_ERR_NOMEM;
        free(one);
        if (status || !*comma)
            return status;
        text = comma;
    }
}

/* A prior that no model has anything for is a mistake. */
static int match_priors(const list *l, unsigned given)
{
    if (l->count == 1)
        return prior_string_match(&l->model[0], given, l->d);
    for (unsigned bit = 1; bit && bit <= given; bit <<= 1) {
        bool is_used = !(given & bit);
        for (int i = 0; i < l->count && !is_used; i++)
            is_used = prior_string_match(&l->model[i], bit, NULL) == ART_OK;
        if (!is_used)
            return diag_error(l->d, ART_ERR_INPUT, (diag_place){0},
                              "%s has a prior, but none of the models estimates it -- leave the "
                              "prior out, or add such a model",
                              prior_string_name(bit));
    }
    return ART_OK;
}

int model_list_parse(free_model **model, int *n, const char *text, const char *priors,
                     const alignment *a, diag *d)
{
    list l = {.a = a, .d = d, .priors = model_priors_default()};
    unsigned given = 0;
    *model = NULL;
    *n = 0;
    int status = priors ? prior_string_parse(&l.priors, &given, priors, d) : ART_OK;
    l.model = status ? NULL : mem_zeros(MODEL_LIST_MOST, sizeof *l.model);
    if (!status && !l.model)
        status = ART_ERR_NOMEM;
    if (!status)
        status = add_list(&l, text);
    if (!status)
        status = match_priors(&l, given);
    if (status) {
        free(l.model);
        return status;
    }
    *model = l.model;
    *n = l.count;
    return ART_OK;
}

/* Whether one of the models has a prior with this text. */
static bool has_prior(const free_model *model, int n, const char *prior)
{
    char text[PRIOR_TEXT_SIZE];
    for (int k = 0; k < n; k++)
        for (int i = 0; free_model_prior_text(text, sizeof text, &model[k], i); i++)
            if (strcmp(text, prior) == 0)
                return true;
    return false;
}

int model_list_prior_text(char *out, size_t size, const free_model *model, int n, int i)
{
    char text[PRIOR_TEXT_SIZE];
    for (int k = 0; k < n; k++)
        for (int own = 0; free_model_prior_text(text, sizeof text, &model[k], own); own++)
            if (!has_prior(model, k, text) && i-- == 0) {
                snprintf(out, size, "%s", text);
                return 1;
            }
    return 0;
}

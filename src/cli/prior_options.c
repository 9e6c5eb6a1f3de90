#include "cli/prior_options.h"

#include "artreeformer.h"
#include "subst/branch_prior_string.h"
#include "subst/model_list.h"
#include "subst/prior_string.h"

const option BRANCH_PRIOR_OPTIONS[] = {
    OPTION_TEXT(prior_settings, text, "--branch-prior", EXPERT, "PRIOR",
                "prior on branch lengths: exponential(RATE), or gammadir(A,B,C,D) with shape and "
                "rate of the tree length, the Dirichlet parameter of external branches and the "
                "ratio of internal to external ones, such as gammadir(1,0.1,1,1), the default of "
                "MrBayes; exponential(10) if neither this nor --prior-rate is given"),
    OPTION_END,
};

const option PRIOR_RATE_OPTIONS[] = {
    OPTION_REAL(prior_settings, rate, "--prior-rate", OPTIONAL, OPTION_ABOVE_0, 1e6,
                "rate of an exponential prior on branch lengths"),
    OPTION_END,
};

const option PARAMETER_PRIOR_OPTIONS[] = {
    OPTION_TEXT(prior_settings, parameters, "--prior", EXPERT, "PRIORS",
                "priors of estimated parameters where they are not the usual ones, for "
                "example " PRIOR_STRING_EXAMPLES),
    OPTION_END,
};

int prior_settle(branch_prior *out, session *s, const prior_settings *set)
{
    const option *unused = set->text ? PRIOR_RATE_OPTIONS : BRANCH_PRIOR_OPTIONS;
    *out = branch_prior_exponential(set->rate);
    int status = options_refuse(&s->options, unused,
                                "and --branch-prior cannot be used together -- remove one of them",
                                &s->diag);
    return status || !set->text ? status : branch_prior_parse(out, set->text, &s->diag);
}

void prior_say_parameters(session *s, const free_model *model, int n)
{
    char text[PRIOR_TEXT_SIZE];
    for (int i = 0; model_list_prior_text(text, sizeof text, model, n, i); i++)
        log_info(&s->log, "prior: %s", text);
}

void prior_say(session *s, const free_model *model, int n, branch_prior lengths)
{
    char text[BRANCH_PRIOR_STRING_SIZE];
    prior_say_parameters(s, model, n);
    log_info(&s->log, "prior: branch lengths ~ %s", branch_prior_print(text, lengths));
}

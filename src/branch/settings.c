#include "branch/settings.h"

branch_settings branch_defaults(void)
{
    return (branch_settings){
        .sweeps = 200,
        .small_step = 0.25,
        .enough = 1e-4,
        .nni_slack = 12,
        .spr_slack = 10,
        .spr_per_change = 0.5,
        .prior_draws = 0.5,
    };
}

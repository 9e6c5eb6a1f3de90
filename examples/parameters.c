/* Parameters of the substitution model through the library, or of an average over several:
 *     cc parameters.c $(pkg-config --cflags --libs artreeformer)
 *     ./a.out primates.fasta HKY+G4 'kappa=beta(2,1),alpha=exponential(2)'
 *     ./a.out primates.fasta auto */
#include <artreeformer.h>
#include <stdio.h>

/* What was found under the models together, and how probable each is. */
static void tell(const art_result *found)
{
    art_parameter p;
    art_candidate m;
    for (size_t i = 0; art_result_parameter(&p, found, i) == ART_OK; i++)
        printf("%s %.6g, standard error %.2g, 95 %% from %.4g to %.4g\n", p.name, p.mean, p.mean_se,
               p.low, p.high);
    for (size_t i = 0; art_result_candidate(&m, found, i) == ART_OK && m.was_run; i++)
        printf("%s has probability %.4f\n", m.model, m.probability);
}

int main(int argc, char **argv)
{
    art_messages *messages;
    art_alignment *data = NULL;
    art_run *run = NULL;
    art_result *found = NULL;
    art_infer_settings settings;
    art_infer_defaults(&settings);
    if (argc < 3 || argc > 4 || art_messages_create(&messages) != ART_OK) {
        fprintf(stderr, "usage: parameters ALIGNMENT MODEL [PRIORS]\n");
        return 2;
    }
    settings.parameter_priors = argc > 3 ? argv[3] : NULL;
    int status = art_alignment_read(&data, argv[1], messages);
    if (status == ART_OK)
        status = art_run_infer(&run, data, argv[2], &settings, messages);
    if (status == ART_OK)
        status = art_run_drive(run, NULL, NULL, NULL, messages);
    if (status == ART_OK)
        status = art_run_result(&found, run, messages);
    if (status == ART_OK)
        tell(found);
    for (size_t i = 0; i < art_messages_count(messages); i++)
        fprintf(stderr, "%s\n", art_messages_text(messages, i));
    if (status != ART_OK)
        fprintf(stderr, "%s\n", art_strerror(status));
    art_result_free(found);
    art_run_free(run);
    art_alignment_free(data);
    art_messages_free(messages);
    return status == ART_OK ? 0 : 1;
}

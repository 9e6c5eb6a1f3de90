/* The evidence of an alignment, through the library.
 *     cc evidence.c $(pkg-config --cflags --libs artreeformer) && ./a.out primates.fasta */
#include <artreeformer.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    art_messages *messages;
    art_alignment *data = NULL;
    art_model *q = NULL;
    art_evidence e;
    art_infer_settings settings;
    art_infer_defaults(&settings);
    settings.threads = 2;
    if (argc != 2 || art_messages_create(&messages) != ART_OK)
        return 2;
    int status = art_alignment_read(&data, argv[1], messages);
    if (status == ART_OK)
        status = art_infer(&q, data, "JC", &settings, NULL, NULL, messages);
    if (status == ART_OK)
        status = art_model_answer(&e, NULL, q);
    for (size_t i = 0; i < art_messages_count(messages); i++)
        fprintf(stderr, "%s\n", art_messages_text(messages, i));
    if (status == ART_OK)
        printf("log evidence %.10g, standard error %.3g, Pareto k %.2f\n", e.log_evidence,
               e.log_evidence_se, e.pareto_k);
    else
        fprintf(stderr, "%s\n", art_strerror(status));
    art_model_free(q);
    art_alignment_free(data);
    art_messages_free(messages);
    return status == ART_OK ? 0 : 1;
}

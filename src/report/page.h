/* page.h: the result of an inference on one page, `<prefix>.report.txt`: what was done, the
 * evidence and how far it can be trusted, the best topologies, the consensus tree drawn. */
#ifndef REPORT_PAGE_H
#define REPORT_PAGE_H

#include "base/buffer.h"
#include "base/diag.h"
#include "infer/evidence.h"
#include "infer/posterior.h"

/* One line of what was done: "substitution model", "JC". Both borrowed. */
typedef struct page_fact {
    const char *name;
    const char *value;
} page_fact;

/* p is finished. The text is added to out. */
int page_compose(buffer *out, const page_fact *facts, int n_facts, const evidence *e,
                 const posterior *p);

/* Writes it to <prefix>.report.txt. */
int page_write(const char *prefix, const buffer *text, diag *d);

/* The majority consensus with supports in percent, drawn. */
int page_tree(buffer *out, const posterior *p);

#endif

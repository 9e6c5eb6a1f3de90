/* nexus_link.h: titles of NEXUS blocks, and which TAXA block another block refers to.
 *
 * A file may have several TAXA blocks, each with a title, and blocks of data or trees that link to
 * one of them, as Mesquite writes it:
 *
 *     BEGIN TAXA;        TITLE Birds;         DIMENSIONS NTAX=9; TAXLABELS ...; END;
 *     BEGIN CHARACTERS;  LINK TAXA = Birds;   DIMENSIONS NCHAR=500; ...
 *
 * Titles are the same whatever their case; underscore and blank mean the same. */
#ifndef IO_NEXUS_LINK_H
#define IO_NEXUS_LINK_H

#include "io/nexus.h"

/* Behind the word TITLE: reads the title and the ';'. */
int nexus_read_title(nexus *n, nexus_token *title);

/* Makes room for one more title behind count of them; the block has none as yet. ART_ERR_NOMEM. */
int nexus_add_title(nexus_token **title, size_t count);

/* Behind the word LINK: reads all of `TAXA = title CHARACTERS = title;`. *taxa becomes the title
 * behind TAXA, and remains as it is where there is none. */
int nexus_read_link(nexus *n, nexus_token *taxa);

/* The number of the block to which the link (of kind NEXUS_END: none) refers, among count titles
 * (of kind NEXUS_END: blocks without one); *which becomes count if any of them may be meant, which
 * is so without a link. A link whose title does not exist is an error, but only a note where there
 * is one block at most, because it can mean no other. */
int nexus_find_linked(size_t *which, const nexus *n, const nexus_token *link,
                      const nexus_token *title, size_t count);

#endif

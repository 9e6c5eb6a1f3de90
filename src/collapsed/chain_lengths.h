/* chain_lengths.h: the second stage of an answer from chains (chain_answer.h), for chain_answer.c:
 * trees are picked and their branch lengths drawn, until that error is as wanted. */
#ifndef COLLAPSED_CHAIN_LENGTHS_H
#define COLLAPSED_CHAIN_LENGTHS_H

#include "collapsed/chain_answer.h"

enum { ANSWER_PIECE = 64 }; /* trees in a piece of work, at most */

/* Trees in the next piece, of those that are left: fewer where each takes longer. */
size_t chain_answer_piece(const chain_answer *a, size_t left);

/* From `most` with few taxa down to `least`, as the cost of a tree grows. */
int chain_answer_affordable(const chain_answer *a, int most, int least);

/* After the draws of trees: solves the bridge and picks trees. */
int chain_lengths_begin(chain_answer *a);

/* A piece of work; at the end of the last, the answer is done. */
int chain_lengths_advance(chain_answer *a, const interrupt *stop);

/* The trees that were picked are a function of the draws and the states; what was found out about
 * them is saved. */
void chain_lengths_fields(chain_answer *a, saved_state *s);

#endif

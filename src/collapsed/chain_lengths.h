/* chain_lengths.h: the second stage of an answer from chains (chain_answer.h): trees are picked and
 * their branch lengths drawn, until that error is as wanted. Only chain_answer.c uses it. */
#ifndef COLLAPSED_CHAIN_LENGTHS_H
#define COLLAPSED_CHAIN_LENGTHS_H

#include "collapsed/chain_answer.h"

/* After the draws of trees: solves the bridge and picks trees. */
int chain_lengths_begin(chain_answer *a);

/* A piece of work; at the end of the last, the answer is done. */
int chain_lengths_advance(chain_answer *a, const interrupt *stop);

/* The trees that were picked are a function of the draws and the states; what was found out about
 * them is saved. */
void chain_lengths_fields(chain_answer *a, saved_state *s);

#endif

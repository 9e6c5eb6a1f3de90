/* test_hook.h: what tests ask of a run through the environment, so that a signal or a time limit
 * comes at the same place in its work on every machine, however busy.
 *
 *     ART_TEST_SIGNALS="10:5 9:20"    raises signal 10 after 5 pieces of work and signal 9 after 20
 *     ART_TEST_PIECE_SECONDS=1        time limits take every piece to last one second
 *
 * A piece ends wherever a run looks whether it should stop (run.h): a step of training, a batch of
 * draws, some of the trees of an exploration. They are counted from the start of the program.
 * Without the variables nothing happens. */
#ifndef CLI_TEST_HOOK_H
#define CLI_TEST_HOOK_H

/* A piece of work is done: counts it and raises what was asked for. */
void test_hook_piece(void);

/* Seconds that time limits count: those of the pieces, or `seconds` where nobody asked. */
double test_hook_seconds(double seconds);

#endif

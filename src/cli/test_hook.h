/* test_hook.h: hooks for tests through the environment, so that a signal or a time limit occurs at
 * the same point of the work on every machine, regardless of load.
 *
 *     ART_TEST_SIGNALS="10:5 9:20"    raises signal 10 after 5 pieces of work and signal 9 after 20
 *     ART_TEST_PIECE_SECONDS=1        every piece counts as one second for time limits
 *
 * A piece ends wherever a run checks whether it should stop (run.h): a step of training, a batch of
 * draws, some of the trees of an exploration. They are counted from the start of the program.
 * Without the variables nothing happens. */
#ifndef CLI_TEST_HOOK_H
#define CLI_TEST_HOOK_H

/* Counts a piece of work that is done and raises the requested signals. */
void test_hook_piece(void);

/* Seconds that count for time limits: those of the pieces, or `seconds` if the variable is not
 * set. */
double test_hook_seconds(double seconds);

#endif

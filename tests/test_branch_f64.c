/* The same tests with the network in double. */
#include "test_branch.c"

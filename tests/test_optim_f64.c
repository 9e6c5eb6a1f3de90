/* The same tests with the network's numbers in double. */
#include "test_optim.c"

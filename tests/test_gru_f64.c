/* The same tests with numbers in double. */
#include "test_gru.c"

#include "artreeformer.h"

#include <stdio.h>

int main(void)
{
    printf("artreeformer %s\n", art_version());
    return 0;
}

#include "artreeformer.h"

const char *art_strerror(int status)
{
    switch (status) {
#define STATUS_TEXT(name, value, text) \
    case value:                        \
        return text;
        ART_STATUS_TABLE(STATUS_TEXT)
#undef STATUS_TEXT
    default:
        return "unknown status code";
    }
}

const char *art_version(void)
{
    return ART_VERSION;
}

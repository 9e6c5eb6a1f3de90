/* artreeformer.h: the public face of the library. */
#ifndef ARTREEFORMER_H
#define ARTREEFORMER_H

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define ART_API __attribute__((visibility("default")))
#else
#define ART_API
#endif

/* Every function that can fail returns 0 (ART_OK) or one of these negative codes. */
#define ART_STATUS_TABLE(X)                                       \
    X(ART_OK, 0, "success")                                       \
    X(ART_ERR_NOMEM, -1, "out of memory")                         \
    X(ART_ERR_IO, -2, "reading or writing failed")                \
    X(ART_ERR_INPUT, -3, "the input is not valid")                \
    X(ART_ERR_USAGE, -4, "the arguments are not valid")           \
    X(ART_ERR_LIMIT, -5, "the input is larger than the limit")    \
    X(ART_ERR_UNSUPPORTED, -6, "not supported")                   \
    X(ART_ERR_EXISTS, -7, "results exist already")                \
    X(ART_ERR_NUMERIC, -8, "numerical failure")                   \
    X(ART_ERR_STOPPED, -9, "stopped by a signal or a time limit") \
    X(ART_ERR_MISMATCH, -10, "the inputs do not belong together")

enum art_status {
#define ART_STATUS_ENUM(name, value, text) name = value,
    ART_STATUS_TABLE(ART_STATUS_ENUM)
#undef ART_STATUS_ENUM
};

/* The text of a status code; a fixed text for codes that do not exist. Never NULL. */
ART_API const char *art_strerror(int status);

/* "X.Y.Z" */
ART_API const char *art_version(void);

#ifdef __cplusplus
}
#endif
#endif

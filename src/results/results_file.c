#include "results/results_file.h"

#include "artreeformer.h"
#include "base/host.h"
#include "io/output.h"
#include "train/drive.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH = 4096 };

static int path_of(char path[PATH], const char *prefix, diag *d)
{
    if (snprintf(path, PATH, "%s.json", prefix) < PATH)
        return ART_OK;
    return diag_error(d, ART_ERR_USAGE, (diag_place){0},
                      "the path prefix is too long -- shorten it");
}

/* The identity of the run that these are the results of; a new object, NULL if they do not say. */
static json_t *identity_of(const json_t *results, const json_t *like)
{
    json_t *out = json_object();
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)like, key, value)
    {
        json_t *own = json_object_get(results, key);
        if (own)
            json_object_set(out, key, own);
    }
    if (json_object_size(out) < json_object_size(like)) {
        json_decref(out);
        return NULL;
    }
    return out;
}

/* A file of the results that is gone; NULL if all are there. */
static const char *missing_file(const json_t *results)
{
    size_t i;
    json_t *file;
    json_array_foreach(json_object_get(results, "files"), i, file)
    {
        const char *path = json_string_value(file);
        if (path && access(path, F_OK) != 0)
            return path;
    }
    return NULL;
}

int results_file_look(bool *is_finished, const char *prefix, const json_t *identity, diag *d)
{
    char path[PATH], text[1024] = "they do not say which";
    *is_finished = false;
    int status = path_of(path, prefix, d);
    if (status || access(path, F_OK) != 0)
        return status;
    json_t *results = json_load_file(path, 0, NULL);
    json_t *before = identity_of(results, identity);
    const char *gone = missing_file(results);
    if (!before || identity_differs(text, sizeof text, before, identity))
        status = diag_error(d, ART_ERR_EXISTS, (diag_place){.file = path},
                            "results of another run exist: %s -- overwrite them, or write the new "
                            "ones elsewhere",
                            text);
    else if (gone)
        status = diag_error(d, ART_ERR_EXISTS, (diag_place){.file = path},
                            "results of this run exist, but %s is missing -- overwrite them, or "
                            "write the new ones elsewhere",
                            gone);
    else
        *is_finished = true;
    json_decref(before);
    json_decref(results);
    return status;
}

int results_file_remove(const char *prefix, diag *d)
{
    char path[PATH];
    struct stat info;
    int status = path_of(path, prefix, d);
    if (!status && stat(path, &info) == 0 && S_ISREG(info.st_mode) && unlink(path) != 0)
        status = diag_error(d, ART_ERR_IO, (diag_place){.file = path}, "cannot be removed: %s",
                            strerror(errno));
    return status;
}

/* The files that there are, and the one that is about to be written. */
static json_t *file_list(const char *prefix, const char *const *suffix)
{
    json_t *files = json_array();
    for (; files && *suffix; suffix++) {
        char *path = NULL;
        if (asprintf(&path, "%s%s", prefix, *suffix) < 0)
            continue;
        if (strcmp(*suffix, ".json") == 0 || access(path, F_OK) == 0)
            json_array_append_new(files, json_string(path));
        free(path);
    }
    return files;
}

/* A new object that begins with the verdict, which is what a reader wants first; then the identity.
 */
static json_t *begin_file(const json_t *identity, const json_t *results)
{
    static const char *const FIRST[] = {"converged", "warnings"};
    json_t *all = json_object(), *own = json_deep_copy(identity);
    for (int i = 0; all && i < 2; i++) {
        json_t *value = json_object_get(results, FIRST[i]);
        if (value)
            json_object_set(all, FIRST[i], value);
    }
    if (!all || !own) {
        json_decref(own);
        json_decref(all);
        return NULL;
    }
    json_object_update_new(all, own);
    return all;
}

int results_file_write(const char *prefix, const json_t *identity, json_t *results,
                       const results_facts *facts, diag *d)
{
    char path[PATH];
    json_t *all = begin_file(identity, results), *files = file_list(prefix, facts->suffixes);
    int status = all && results && files ? path_of(path, prefix, d) : ART_ERR_NOMEM;
    if (status) {
        json_decref(all);
        json_decref(results);
        json_decref(files);
        return status;
    }
    json_object_update_new(results,
                           json_pack("{s:I, s:f, s:I, s:o}", "seed", (json_int_t)facts->seed,
                                     "seconds", facts->seconds, "peak_memory_bytes",
                                     (json_int_t)peak_memory(), "files", files));
    json_object_update_new(all, results);
    char *text = json_dumps(all, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
    json_decref(all);
    output o = {0};
    status = text ? output_open(&o, path, d) : ART_ERR_NOMEM;
    if (!status) {
        output_printf(&o, "%s\n", text);
        status = output_close(&o, d);
    }
    free(text);
    return status;
}

// Writes files as the format says: 8 bytes of length, little-endian, the JSON header, the data.
#include "tests/moe/st_make.h"

#include "tests/check.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

void st_make_folder(StFolder *out) {
    const char *base = getenv("TMPDIR");
    snprintf(out->path, sizeof out->path, "%s/moesim-st-XXXXXX", base != NULL ? base : "/tmp");
    assert_non_null(mkdtemp(out->path));
}

void st_make_remove(const StFolder *folder) {
    DIR *list = opendir(folder->path);
    assert_non_null(list);
    for (struct dirent *entry; (entry = readdir(list)) != NULL;)
        unlinkat(dirfd(list), entry->d_name, 0);
    closedir(list);
    assert_int_equal(rmdir(folder->path), 0);
}

const char *st_make_path(const StFolder *folder, const char *name) {
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", folder->path, name);
    return path;
}

void st_make_bytes(const StFolder *folder, const char *name, const void *bytes, size_t count) {
    FILE *file = fopen(st_make_path(folder, name), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    fclose(file);
}

void st_make_file(const StFolder *folder, const char *name, const char *header, uint64_t data_B) {
    FILE *file = fopen(st_make_path(folder, name), "wb");
    size_t length = strlen(header);
    assert_non_null(file);
    for (uint32_t i = 0; i < 8; i++) fputc((int)(length >> (8 * i) & 0xff), file);
    fwrite(header, 1, length, file);
    fflush(file);
    assert_int_equal(ftruncate(fileno(file), (off_t)(8 + length + data_B)), 0);
    fclose(file);
}

uint64_t st_make_header(const StTensor *tensors, uint32_t count, Text *out) {
    uint64_t at = 0;
    text_add(out, "{\"__metadata__\":{\"format\":\"pt\"}");
    for (uint32_t i = 0; i < count; i++) {
        text_addf(out, ",\"%s\":{\"dtype\":\"%s\",\"shape\":[", tensors[i].name, tensors[i].type);
        for (uint32_t d = 0; d < tensors[i].rank; d++)
            text_addf(out, "%s%llu", d == 0 ? "" : ",", (unsigned long long)tensors[i].dims[d]);
        text_addf(out, "],\"data_offsets\":[%llu,%llu]}", (unsigned long long)at,
                  (unsigned long long)(at + tensors[i].bytes));
        at += tensors[i].bytes;
    }
    text_add_char(out, '}');
    while (out->length % 8 != 0) text_add_char(out, ' ');
    return at;
}

void st_make_tensors(const StFolder *folder, const char *name, const StTensor *tensors,
                     uint32_t count) {
    Text header = {0};
    uint64_t bytes = st_make_header(tensors, count, &header);
    st_make_file(folder, name, text_string(&header), bytes);
    text_free(&header);
}

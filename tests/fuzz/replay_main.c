// Replays files through a fuzz target, so that every test run repeats what fuzzing once found, with
// any compiler.
//
// Each file becomes a heap block of exactly its size: a read past the end is seen by the address
// sanitizer. Folders are not walked; a run without a readable file is a failure, because it would
// prove nothing.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define INPUT_CAP_B (64L << 20) // no corpus file comes near

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void stop(const char *path) {
    perror(path);
    exit(1);
}

static int replay(const char *path) {
    FILE *file = fopen(path, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0) stop(path);
    long end = ftell(file);
    if (end < 0 || end > INPUT_CAP_B || fseek(file, 0, SEEK_SET) != 0) stop(path);
    size_t size = (size_t)end;
    // never a block of 0 bytes, whose address may be NULL; a target is given size 0 all the same
    uint8_t *data = malloc(size > 0 ? size : 1);
    if (data == NULL || fread(data, 1, size, file) != size) stop(path);
    fclose(file);
    int result = LLVMFuzzerTestOneInput(data, size);
    free(data);
    return result;
}

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        if (replay(argv[i]) != 0) {
            fprintf(stderr, "%s: the target returned something other than 0\n", argv[i]);
            return 1;
        }
    }
    printf("%d inputs\n", argc - 1);
    return argc > 1 ? 0 : 1;
}

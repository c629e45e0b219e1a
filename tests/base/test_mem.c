// Arenas and growable arrays.
#include "model/base/mem.h"
#include "tests/check.h"

#include <stdalign.h>
#include <sys/wait.h>
#include <unistd.h>

static void test_mem_arena_gives_zeroed_aligned_memory(void **state) {
    (void)state;
    Arena arena = {0};
    for (size_t size = 1; size < 3000; size += 7) {
        unsigned char *memory = arena_alloc(&arena, size, 1);
        assert_int_equal((uintptr_t)memory % alignof(max_align_t), 0);
        for (size_t i = 0; i < size; i++) assert_int_equal(memory[i], 0);
        memset(memory, 0xaa, size);
    }
    arena_free(&arena);
}

// 10 * 8 + 3 bytes were asked for; padding is not counted.
static void test_mem_arena_counts_requests(void **state) {
    (void)state;
    Arena arena = {0};
    arena_alloc(&arena, 10, 8);
    arena_string(&arena, "ab");
    assert_int_equal(arena.used_B, 83);
    arena_free(&arena);
    assert_int_equal(arena.used_B, 0);
}

static void test_mem_arena_holds_large_and_empty_requests(void **state) {
    (void)state;
    Arena arena = {0};
    assert_non_null(arena_alloc(&arena, 0, 8));
    char *large = arena_alloc(&arena, 5 << 20, 1);
    large[(5 << 20) - 1] = 'x';
    assert_non_null(arena_copy(&arena, NULL, 0, 4));
    arena_free(&arena);
}

static void test_mem_arena_copies_and_formats(void **state) {
    (void)state;
    Arena arena = {0};
    const uint32_t numbers[] = {1, 2, 3};
    assert_memory_equal(arena_copy(&arena, numbers, 3, 4), numbers, 12);
    assert_string_equal(arena_string(&arena, "rail"), "rail");
    assert_string_equal(arena_string(&arena, NULL), "");
    assert_string_equal(arena_printf(&arena, "%s[%d]", "links", 3), "links[3]");
    arena_free(&arena);
}

static void test_mem_arena_free_accepts_empty_and_twice(void **state) {
    (void)state;
    Arena arena = {0};
    arena_free(&arena);
    arena_alloc(&arena, 1, 1);
    arena_free(&arena);
    arena_free(&arena);
    assert_null(arena.last);
}

// 8, 16, 32, ... as needed; what is there stays.
static void test_mem_grow_doubles_and_keeps(void **state) {
    (void)state;
    uint32_t capacity = 0, *items = NULL;
    for (uint32_t i = 0; i < 1000; i++) {
        items = mem_grow(items, &capacity, i + 1, sizeof *items);
        items[i] = i * i;
    }
    assert_int_equal(capacity, 1024);
    for (uint32_t i = 0; i < 1000; i++) assert_int_equal(items[i], i * i);
    mem_free(items);
    mem_free(NULL);
}

// Runs in a child, because it ends the program: 2^63 items of 4 bytes do not fit in a size_t.
static void test_mem_ends_the_program_with_status_3(void **state) {
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        mem_alloc(SIZE_MAX / 2 + 1, 4);
        _exit(0);
    }
    close(ends[1]);
    char text[256] = {0};
    ssize_t length = read(ends[0], text, sizeof text - 1);
    close(ends[0]);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 3);
    assert_true(length > 0);
    check_text_equals(text, "moesim: out of memory: 9223372036854775808 items of 4 bytes\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mem_arena_gives_zeroed_aligned_memory),
        cmocka_unit_test(test_mem_arena_counts_requests),
        cmocka_unit_test(test_mem_arena_holds_large_and_empty_requests),
        cmocka_unit_test(test_mem_arena_copies_and_formats),
        cmocka_unit_test(test_mem_arena_free_accepts_empty_and_twice),
        cmocka_unit_test(test_mem_grow_doubles_and_keeps),
        cmocka_unit_test(test_mem_ends_the_program_with_status_3),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// Cases of a benchmark from lines of text.
//
// Invariant: what is read fits the ground and the limits of bench_cases.h, and is written and read
// by bench_case.h. Named sets are lines too, so that a file can say all that they say.
#include "exec/bench_cases.h"

#include <inttypes.h>
#include <string.h>

#include "exec/kernel/convert.h"
#include "model/base/file.h"
#include "model/base/rng.h"
#include "model/base/units.h"
#include "model/report/record.h"

#define WORDS_MAX 8

uint64_t bench_cases_bytes(const BenchCase *bench, uint32_t from, uint32_t to) {
    if (bench->op == BENCH_SEND_RECV)
        return from == bench->from && to == bench->to ? bench->bytes : 0;
    return from == to ? 0 : bench->matrix[from * bench->ranks + to];
}

typedef struct Reader {
    const char *name;
    uint32_t line;
    const BenchGround *ground;
    Arena *arena;
    BenchCase *cases; // heap
    uint32_t count, capacity;
    char *keys[WORDS_MAX], *values[WORDS_MAX]; // of the line
    bool used[WORDS_MAX];
    uint32_t words;
} Reader;

static bool refuse(const Reader *reader, Err *err) {
    return err_prefix(err, "%s:%u", reader->name, reader->line);
}

// ---- Words

static const char *find(Reader *reader, const char *key) {
    for (uint32_t i = 0; i < reader->words; i++)
        if (strcmp(reader->keys[i], key) == 0) {
            reader->used[i] = true;
            return reader->values[i];
        }
    return NULL;
}

static bool need(Reader *reader, const char *key, const char **out, Err *err) {
    *out = find(reader, key);
    return *out != NULL || err_set(err, "expected %s=", key);
}

static bool read_number(const char *key, const char *text, uint64_t least, uint64_t most,
                        uint32_t *out, Err *err) {
    uint64_t value;
    char quote[TEXT_QUOTE_MAX];
    if (!text_parse_u64(text, &value) || value < least || value > most)
        return err_set(err, "%s: expected %" PRIu64 " to %" PRIu64 ", found %s", key, least, most,
                       text_quote(text, quote));
    *out = (uint32_t)value;
    return true;
}

static bool need_number(Reader *reader, const char *key, uint64_t least, uint64_t most,
                        uint32_t *out, Err *err) {
    const char *text;
    return need(reader, key, &text, err) && read_number(key, text, least, most, out, err);
}

// A size of whole f32 elements, which sums need.
static bool need_size(Reader *reader, uint64_t *out, Err *err) {
    const char *text;
    if (!need(reader, "size", &text, err)) return false;
    if (!units_parse_bytes(text, out, err)) return err_prefix(err, "size");
    return (*out > 0 && *out % sizeof(float) == 0 && *out <= BENCH_CASES_MAX_B) ||
           err_set(err, "size: expected 4 B to 1 GiB in steps of 4 B, found %s", text);
}

static bool read_name(const char *key, const char *text, const char *const *names, uint32_t count,
                      uint32_t *out, Err *err) {
    char quote[TEXT_QUOTE_MAX];
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(names[i], text) == 0) {
            *out = i;
            return true;
        }
    uint32_t near = text_nearest(text, names, count);
    return err_set(err, "unknown %s %s%s%s", key, text_quote(text, quote),
                   near < count ? ", did you mean " : "", near < count ? names[near] : "");
}

// ---- Communication

static uint32_t nodes_of(const BenchGround *ground, uint32_t ranks) {
    return ground->hosts[ranks - 1] - ground->hosts[0] + 1;
}

// Ranks from 0 on; all without a word.
static bool read_ranks(Reader *reader, BenchCase *out, Err *err) {
    const char *text = find(reader, "ranks");
    out->ranks = reader->ground->ranks;
    if (out->ranks < 2 || out->ranks > BENCH_RANKS_MAX)
        return err_set(err, "expected 2 to %d ranks, found %u", BENCH_RANKS_MAX, out->ranks);
    if (text != NULL && !read_number("ranks", text, 2, out->ranks, &out->ranks, err)) return false;
    out->nodes = nodes_of(reader->ground, out->ranks);
    return true;
}

static bool read_collective(Reader *reader, Collective kind, BenchCase *out, Err *err) {
    const char *name = find(reader, "algorithm"), *inner = find(reader, "inner");
    uint32_t algorithm = ALGORITHM_DIRECT;
    if (name != NULL &&
        !read_name("algorithm", name, algorithm_names, ALGORITHM_COUNT, &algorithm, err))
        return false;
    if (inner != NULL && !read_number("inner", inner, 2, out->ranks, &out->inner, err))
        return false;
    out->algorithm = (Algorithm)algorithm;
    if (!collective_has(kind, out->algorithm))
        return err_set(err, "%s has no algorithm %s", collective_names[kind],
                       algorithm_names[algorithm]);
    if (out->algorithm == ALGORITHM_IN_SWITCH)
        return err_set(err, "algorithm in-switch: no back end here has such a switch");
    return collective_check(
        (CollectiveShape){
            .kind = kind, .algorithm = out->algorithm, .n = out->ranks, .inner = out->inner},
        err);
}

// What each rank sends, cut by weights: 1 to 64 for each destination, so that few of them get most,
// times 1 to 4 for each pair.
static void skew(uint64_t seed, uint64_t size_B, uint32_t n, uint64_t *matrix) {
    uint64_t popular[BENCH_RANKS_MAX], weights[BENCH_RANKS_MAX];
    Rng rng;
    rng_seed(&rng, seed);
    for (uint32_t j = 0; j < n; j++) popular[j] = UINT64_C(1) << rng_below(&rng, 7);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t sum = 0;
        for (uint32_t j = 0; j < n; j++) {
            weights[j] = i == j ? 0 : popular[j] * (1 + rng_below(&rng, 4));
            sum += weights[j];
        }
        for (uint32_t j = 0; j < n; j++)
            matrix[i * n + j] =
                size_B / sizeof(float) * weights[j] / sum * sizeof(float); // whole elements
    }
}

// "0>2,1>3"
static bool read_pairs(char *text, uint64_t size_B, uint32_t n, uint64_t *matrix, Err *err) {
    for (char *pair = text; pair != NULL;) {
        char *comma = strchr(pair, ','), *to = strchr(pair, '>');
        uint32_t ends[2];
        if (comma != NULL) *comma++ = '\0';
        if (to == NULL || (comma != NULL && to > comma))
            return err_set(err, "pairs: expected FROM>TO with commas between, found \"%s\"", pair);
        *to++ = '\0';
        if (!read_number("pairs", pair, 0, n - 1, &ends[0], err) ||
            !read_number("pairs", to, 0, n - 1, &ends[1], err))
            return false;
        if (ends[0] == ends[1] || matrix[ends[0] * n + ends[1]] > 0)
            return err_set(err, "pairs: expected two ranks and each pair once, found %u>%u",
                           ends[0], ends[1]);
        matrix[ends[0] * n + ends[1]] = size_B;
        pair = comma;
    }
    return true;
}

// How the record of a case says its matrix: digits, and a mark behind each number.
static uint64_t cell_length(uint32_t n, const uint64_t *matrix) {
    uint64_t length = strlen("matrix=");
    for (uint32_t i = 0; i < n * n; i++) {
        length += 2;
        for (uint64_t rest = matrix[i]; rest >= 10; rest /= 10) length++;
    }
    return length;
}

static bool read_matrix(Reader *reader, BenchCase *out, Err *err) {
    const char *seed = find(reader, "seed"), *pairs = find(reader, "pairs");
    uint32_t n = out->ranks, number;
    uint64_t size_B = out->bytes, *matrix = arena_alloc(reader->arena, n * n, sizeof *matrix);
    if ((seed != NULL) == (pairs != NULL)) return err_set(err, "expected seed= or pairs=");
    if (size_B > BENCH_CASES_MAX_B / n)
        return err_set(err, "size: %" PRIu64 " bytes to each of %u ranks, expected at most 1 GiB",
                       size_B, n);
    if (seed != NULL) {
        if (!read_number("seed", seed, 0, UINT32_MAX, &number, err)) return false;
        skew(number, size_B, n, matrix);
    } else if (!read_pairs(arena_string(reader->arena, pairs), size_B, n, matrix, err)) {
        return false;
    }
    if (cell_length(n, matrix) > RECORD_CELL_MAX)
        return err_set(err, "the matrix of %u ranks does not fit a record, expected fewer", n);
    out->matrix = matrix;
    out->bytes = 0;
    for (uint32_t i = 0; i < n * n; i++) out->bytes += matrix[i];
    return true;
}

static bool read_comm(Reader *reader, BenchCase *out, Err *err) {
    Collective kind;
    out->format = NUMFMT_F32;
    if (!read_ranks(reader, out, err) || !need_size(reader, &out->bytes, err)) return false;
    if (bench_case_collective(out->op, &kind)) return read_collective(reader, kind, out, err);
    if (out->op == BENCH_ALL_TO_ALLV) return read_matrix(reader, out, err);
    return need_number(reader, "from", 0, out->ranks - 1, &out->from, err) &&
           need_number(reader, "to", 0, out->ranks - 1, &out->to, err) &&
           (out->from != out->to || err_set(err, "to: expected another rank than %u", out->from));
}

// ---- Kernels

static bool read_kernel(Reader *reader, BenchCase *out, Err *err) {
    const uint64_t most = BENCH_CASES_MAX_B / sizeof(float);
    const char *name = find(reader, "format");
    uint32_t format = NUMFMT_F32;
    if (name != NULL && !read_name("format", name, numfmt_names, NUMFMT_COUNT, &format, err))
        return false;
    out->format = (NumFmt)format;
    if (out->op == BENCH_COPY) return need_size(reader, &out->bytes, err);
    if (!convert_knows(out->format))
        return err_set(err, "format: kernels here are of f32 and bf16, found %s", name);
    if (!need_number(reader, "m", 1, 1 << 20, &out->m, err) ||
        !need_number(reader, "n", 1, 1 << 20, &out->n, err) ||
        !need_number(reader, "k", 1, 1 << 20, &out->k, err))
        return false;
    return ((uint64_t)out->m * out->k <= most && (uint64_t)out->n * out->k <= most &&
            (uint64_t)out->m * out->n <= most) ||
           err_set(err, "a matrix over 1 GiB");
}

// ---- Lines

static bool split(Reader *reader, char *text, char **op, Err *err) {
    char *next = text;
    reader->words = 0;
    *op = NULL;
    text[strcspn(text, "#\r")] = '\0';
    while (*(next += strspn(next, " \t")) != '\0') {
        char *word = next;
        next += strcspn(next, " \t");
        if (*next != '\0') *next++ = '\0';
        if (*op == NULL) {
            *op = word;
            continue;
        }
        char *equals = strchr(word, '=');
        if (equals == NULL || reader->words == WORDS_MAX)
            return err_set(err, "expected up to %d words KEY=VALUE", WORDS_MAX);
        *equals = '\0';
        if (find(reader, word) != NULL) return err_set(err, "%s= is there twice", word);
        reader->used[reader->words] = false;
        reader->keys[reader->words] = word;
        reader->values[reader->words++] = equals + 1;
    }
    return true;
}

static bool read_line(Reader *reader, char *text, Err *err) {
    BenchCase bench = {0};
    char *name, quote[TEXT_QUOTE_MAX];
    uint32_t op = 0;
    if (!split(reader, text, &name, err)) return false;
    if (name == NULL) return true;
    if (!read_name("operation", name, bench_case_op_names, BENCH_OP_COUNT, &op, err)) return false;
    bench.op = (BenchOp)op;
    if (!(bench_case_communicates(bench.op) ? read_comm : read_kernel)(reader, &bench, err))
        return false;
    for (uint32_t i = 0; i < reader->words; i++)
        if (!reader->used[i])
            return err_set(err, "%s takes no %s", name, text_quote(reader->keys[i], quote));
    if (reader->count == BENCH_CASES_MAX)
        return err_set(err, "expected at most %d cases", BENCH_CASES_MAX);
    reader->cases = mem_grow(reader->cases, &reader->capacity, reader->count + 1, sizeof bench);
    reader->cases[reader->count++] = bench;
    return true;
}

static bool read_lines(Reader *reader, const char *name, const char *bytes, Err *err) {
    char *line = arena_string(reader->arena, bytes);
    reader->name = name;
    for (reader->line = 1; line != NULL; reader->line++) {
        char *end = strchr(line, '\n');
        if (end != NULL) *end++ = '\0';
        if (!read_line(reader, line, err)) return refuse(reader, err);
        line = end;
    }
    return true;
}

// ---- Sets

static const char *const sizes[] = {"1KiB", "16KiB", "256KiB", "1MiB", "4MiB"};
#define SIZES ((uint32_t)(sizeof sizes / sizeof *sizes))

// Of rank 0 with the next rank of its host, and with the first of another.
static void add_p2p(const BenchGround *ground, Text *out) {
    uint32_t other = 0;
    while (other < ground->ranks && ground->hosts[other] == ground->hosts[0]) other++;
    for (uint32_t i = 0; i < SIZES; i++) {
        if (other > 1) text_addf(out, "send_recv size=%s from=0 to=1\n", sizes[i]);
        if (other < ground->ranks)
            text_addf(out, "send_recv size=%s from=0 to=%u\n", sizes[i], other);
    }
}

// Ranks of the first host, when all hosts have as many; else 0.
static uint32_t ranks_of_host(const BenchGround *ground) {
    uint32_t nodes = nodes_of(ground, ground->ranks), inner = ground->ranks / nodes;
    for (uint32_t i = 0; i < ground->ranks; i++)
        if (ground->hosts[i] - ground->hosts[0] != i / inner) return 0;
    return inner * nodes == ground->ranks ? inner : 0;
}

static void add_collectives(const BenchGround *ground, Text *out) {
    uint32_t inner = ranks_of_host(ground);
    for (uint32_t op = 0; op < BENCH_OP_COUNT; op++) {
        Collective kind;
        if (!bench_case_collective((BenchOp)op, &kind)) continue;
        for (uint32_t how = 0; how < ALGORITHM_COUNT; how++) {
            bool nested = how == ALGORITHM_HIERARCHICAL;
            if (how == ALGORITHM_IN_SWITCH || !collective_has(kind, (Algorithm)how) ||
                (nested && (inner < 2 || inner == ground->ranks)))
                continue;
            for (uint32_t i = 1; i < SIZES; i++) {
                text_addf(out, "%s size=%s algorithm=%s", bench_case_op_names[op], sizes[i],
                          algorithm_names[how]);
                if (nested) text_addf(out, " inner=%u", inner);
                text_add_char(out, '\n');
            }
        }
    }
}

static void add_alltoallv(const BenchGround *ground, Text *out) {
    for (uint32_t i = 1; i < SIZES; i++)
        for (uint64_t k = 0; k < 2; k++)
            text_addf(out, "alltoallv size=%s seed=%" PRIu64 "\n", sizes[i],
                      (ground->seed + k) % UINT32_MAX);
}

// Neighbours, and ranks of the first half with those of the second.
static void add_pairs(const BenchGround *ground, Text *out) {
    uint32_t half = ground->ranks / 2;
    for (uint32_t i = 1; i < SIZES; i++)
        for (uint32_t far = 0; far < 2; far++) {
            text_addf(out, "alltoallv size=%s pairs=", sizes[i]);
            for (uint32_t k = 0; k < half; k++)
                text_addf(out, "%s%u>%u", k == 0 ? "" : ",", far == 1 ? k : 2 * k,
                          far == 1 ? k + half : 2 * k + 1);
            text_add_char(out, '\n');
        }
}

static void add_comm(const BenchGround *ground, Text *out) {
    add_p2p(ground, out);
    add_collectives(ground, out);
    add_alltoallv(ground, out);
    add_pairs(ground, out);
}

// The shapes of the projections of a small model, from one token to many.
static void add_gemm(const BenchGround *ground, Text *out) {
    (void)ground;
    for (uint32_t m = 1; m <= 1024; m *= 4)
        for (uint32_t i = 0; i < 2; i++) {
            const char *format = numfmt_name(i == 0 ? NUMFMT_F32 : NUMFMT_BF16);
            text_addf(out, "gemm m=%u n=1024 k=1024 format=%s\n", m, format);
            text_addf(out, "gemm m=%u n=512 k=2048 format=%s\n", m, format);
        }
}

static void add_copy(const BenchGround *ground, Text *out) {
    (void)ground;
    for (uint32_t i = 0; i < SIZES; i++) text_addf(out, "stream_copy size=%s\n", sizes[i]);
    text_add(out, "stream_copy size=4KiB\nstream_copy size=64MiB\n");
}

static bool read_set(Reader *reader, const char *name, Err *err) {
    static const struct {
        const char *name;
        void (*add)(const BenchGround *, Text *);
    } sets[] = {{"p2p", add_p2p},
                {"collectives", add_collectives},
                {"alltoallv", add_alltoallv},
                {"pairs", add_pairs},
                {"all", add_comm},
                {"gemm", add_gemm},
                {"copy", add_copy}};
    char quote[TEXT_QUOTE_MAX];
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        Text text = {0};
        if (strcmp(sets[i].name, name) != 0) continue;
        sets[i].add(reader->ground, &text);
        bool good = read_lines(reader, name, text_string(&text), err);
        text_free(&text);
        return good;
    }
    return err_set(err, "unknown set of cases %s, expected %s, or a file with a '.' or a '/'",
                   text_quote(name, quote), BENCH_SETS);
}

static bool read_part(Reader *reader, const char *name, Err *err) {
    char *bytes;
    size_t count;
    if (strpbrk(name, "./") == NULL) return read_set(reader, name, err);
    return file_read(name, FILE_CAP_B, reader->arena, &bytes, &count, err) &&
           read_lines(reader, name, bytes, err);
}

// ---- All of them

static bool finish(Reader *reader, BenchList *out, Err *err) {
    if (reader->count == 0) return err_set(err, "%s: no case", reader->name);
    bool communicates = bench_case_communicates(reader->cases[0].op);
    for (uint32_t i = 1; i < reader->count; i++)
        if (bench_case_communicates(reader->cases[i].op) != communicates)
            return err_set(err,
                           "cases of %s and of %s: expected communication alone or kernels "
                           "alone, which are records of two kinds",
                           bench_case_op_names[reader->cases[0].op],
                           bench_case_op_names[reader->cases[i].op]);
    out->cases = arena_copy(reader->arena, reader->cases, reader->count, sizeof *reader->cases);
    out->count = reader->count;
    out->communicates = communicates;
    return true;
}

bool bench_cases_read(const char *list, const BenchGround *ground, Arena *arena, BenchList *out,
                      Err *err) {
    Reader reader = {.name = "cases", .ground = ground, .arena = arena};
    bool good = true;
    for (char *part = arena_string(arena, list); good && part != NULL;) {
        char *comma = strchr(part, ',');
        if (comma != NULL) *comma++ = '\0';
        good = read_part(&reader, part, err);
        part = comma;
    }
    good = good && finish(&reader, out, err);
    mem_free(reader.cases);
    return good;
}

bool bench_cases_parse(const char *name, const char *bytes, const BenchGround *ground, Arena *arena,
                       BenchList *out, Err *err) {
    Reader reader = {.ground = ground, .arena = arena};
    bool good = read_lines(&reader, name, bytes, err) && finish(&reader, out, err);
    mem_free(reader.cases);
    return good;
}

// A run over MPI that fails: who says so, whose fault it is, and how all processes end.
//
// Invariant: one process prints one line. A rank that fails reports to rank 0; rank 0 waits a
// little for other reports, tells all to stop, and takes what they have. All that can answer do
// then, so a rank that does not is the silent one, whoever was the first to wait in vain: waits
// form chains, and the end of a chain is seldom its cause.
#include "exec/mpi/mpirun_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exec/clock.h"
#include "exec/result.h"
#include "model/base/mem.h"

#define PS_PER_MS    (PS_PER_SECOND / 1000)
#define ERROR_STATUS 2

#define REPORTS_PS (500 * PS_PER_MS)     // for reports of ranks that wait no longer either
#define GATHER_PS  (5 * PS_PER_SECOND)   // for the parts of a run that failed
#define ALONE_PS   (20 * PS_PER_SECOND)  // until a rank that failed ends all, should rank 0 not
#define TURN_PS    PS_PER_SECOND         // between two ranks that would do so
#define TOLD_PS    (300 * PS_PER_SECOND) // the same when rank 0 has answered

// ---- Before a run

uint32_t mpirun_size(void) {
    static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *text = getenv(names[i]);
        unsigned long size = text != NULL ? strtoul(text, NULL, 10) : 0;
        if (size > 0 && size <= INT32_MAX) return (uint32_t)size;
    }
    return 1;
}

static void choose_finding(const char (*texts)[ERR_TEXT_MAX], int size, Err *err) {
    int first = -1;
    bool is_alike = true;
    for (int rank = 0; rank < size; rank++) {
        if (first < 0 && *texts[rank] != '\0') first = rank;
        is_alike = is_alike && strcmp(texts[rank], texts[0]) == 0;
    }
    if (first < 0) return;
    err_set(err, "%s", texts[first]);
    if (!is_alike) err_prefix(err, "rank %d", first);
}

bool mpirun_agree(const Err *mine, Err *err) {
    int rank, size, is_wrong;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    char(*texts)[ERR_TEXT_MAX] = mem_alloc(rank == 0 ? (size_t)size : 1, sizeof *texts);
    Err found = {0};
    MPI_Gather(mine->text, ERR_TEXT_MAX, MPI_CHAR, texts, ERR_TEXT_MAX, MPI_CHAR, 0,
               MPI_COMM_WORLD);
    if (rank == 0) choose_finding((const char(*)[ERR_TEXT_MAX])texts, size, &found);
    is_wrong = err_is_set(&found);
    MPI_Bcast(&is_wrong, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (rank == 0 && is_wrong) *err = found;
    mem_free(texts);
    return !is_wrong;
}

bool mpirun_tell(Err *err) {
    int is_open, rank;
    Err mine = *err;
    MPI_Initialized(&is_open);
    if (is_open || mpirun_size() == 1) return false;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    mpirun_agree(&mine, err);
    MPI_Finalize();
    return rank != 0;
}

// ---- Reports

static void make_report(const World *world, const Err *err, Report *out) {
    *out = (Report){.peer = world->peer,
                    .is_silence = world->is_silence,
                    .is_own = !world->has_news,
                    .has_come = true};
    memcpy(out->text, err->text, sizeof out->text);
}

static void take_reports(World *world) {
    int is_there = 1;
    while (is_there) {
        MPI_Status status;
        MPI_Iprobe(MPI_ANY_SOURCE, TAG_FAILED, world->own, &is_there, &status);
        if (!is_there) return;
        Report *report = &world->reports[status.MPI_SOURCE];
        MPI_Recv(report, (int)sizeof *report, MPI_BYTE, status.MPI_SOURCE, TAG_FAILED, world->own,
                 MPI_STATUS_IGNORE);
        if (!world->has_news && world->first < 0) world->first = status.MPI_SOURCE;
        world->has_news = true;
        world->stopped = true;
    }
}

void mpirun_hear(World *world) {
    int is_there;
    if (world->has_news) return;
    if (world->rank == 0) {
        take_reports(world);
        return;
    }
    MPI_Iprobe(0, TAG_STOP, world->own, &is_there, MPI_STATUS_IGNORE);
    if (!is_there) return;
    MPI_Recv(NULL, 0, MPI_BYTE, 0, TAG_STOP, world->own, MPI_STATUS_IGNORE);
    world->has_news = true;
    world->stopped = true;
}

// Those of ranks whose time-outs end with the first one's, before they are told to stop.
static void wait_for_reports(World *world) {
    Time deadline = clock_now() + REPORTS_PS;
    int left = world->size;
    while (left > 0 && clock_now() < deadline) {
        take_reports(world);
        left = 0;
        for (int rank = 0; rank < world->size; rank++) left += !world->reports[rank].has_come;
        mpirun_nap();
    }
}

// The cause before the waits for it; of waits, one for a rank that has not answered, then one for a
// rank that has not failed by itself, then the first.
static const Report *choose_report(const World *world) {
    const Report *best = &world->reports[world->first];
    int best_rating = 0;
    for (int rank = 0; rank < world->size; rank++) {
        const Report *report = &world->reports[rank];
        const Report *peer = report->peer >= 0 ? &world->reports[report->peer] : NULL;
        int rating = !report->is_own       ? 0
                     : !report->is_silence ? 3
                     : peer == NULL        ? 0
                     : !peer->has_come     ? 2
                     : !peer->is_own       ? 1
                                           : 0;
        if (rating > best_rating) best = report;
        if (rating > best_rating) best_rating = rating;
    }
    return best;
}

static void blame(const World *world, Err *err) {
    const Report *report = choose_report(world);
    int silent = 0, first = -1;
    memcpy(err->text, report->text, sizeof err->text);
    if (!report->is_silence) return;
    for (int rank = 0; rank < world->size; rank++) {
        if (world->reports[rank].has_come) continue;
        if (silent++ == 0) first = rank;
    }
    if (silent == 1)
        err_prefix(err, "rank %d gives no answer", first);
    else if (silent > 1)
        err_prefix(err, "rank %d and %d more give no answer", first, silent - 1);
}

// ---- Ranks other than 0

static void send_part(const World *world, const Text *part, uint64_t *size, MPI_Request *requests) {
    *size = part->length < MPIRUN_PART_MAX ? part->length : 0; // more would not come in time
    MPI_Isend(size, 1, MPI_UINT64_T, 0, TAG_SIZE, world->own, &requests[0]);
    MPI_Isend(part->data, (int)*size, MPI_BYTE, 0, TAG_RESULT, world->own, &requests[1]);
}

static void end_all(void) {
    MPI_Abort(MPI_COMM_WORLD, ERROR_STATUS);
}

static void end_with_this(void) {
    if (atexit(end_all) != 0) end_all();
}

void mpirun_give_up(World *world, const InterpResult *result, Err *err) {
    MPI_Request requests[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    Text part = {0};
    Report report;
    uint64_t size;
    int done;
    make_report(world, err, &report);
    MPI_Isend(&report, (int)sizeof report, MPI_BYTE, 0, TAG_FAILED, world->own, &requests[2]);
    MPI_Test(&requests[2], &done, MPI_STATUS_IGNORE);
    result_pack(world->request->job, result, &part);
    send_part(world, &part, &size, requests);
    Time begin = clock_now(), alone = begin + ALONE_PS + world->rank * TURN_PS;
    while (clock_now() < (world->has_news ? begin + TOLD_PS : alone)) {
        MPI_Testall(3, requests, &done, MPI_STATUSES_IGNORE);
        mpirun_hear(world);
        mpirun_nap();
    }
    if (world->has_news) {
        end_all(); // rank 0 has said why
        exit(ERROR_STATUS);
    }
    err_prefix(err, "rank 0 gives no answer");
    end_with_this();
}

// ---- Rank 0

// What another rank gives, of which first the size comes.
typedef struct Giving {
    uint64_t size;
    uint8_t *bytes; // heap
    MPI_Request request;
    bool has_size, is_whole;
} Giving;

static void take_part(const World *world, Giving *giving, int rank) {
    int done;
    if (giving->is_whole) return;
    MPI_Test(&giving->request, &done, MPI_STATUS_IGNORE);
    if (!done) return;
    giving->is_whole = giving->has_size;
    if (giving->has_size) return;
    giving->has_size = true;
    giving->bytes = mem_alloc(giving->size, 1);
    MPI_Irecv(giving->bytes, (int)giving->size, MPI_BYTE, rank, TAG_RESULT, world->own,
              &giving->request);
}

// Until all have given what they have, or for GATHER_PS.
static void take_parts(World *world, Giving *givings) {
    Time deadline = clock_now() + GATHER_PS;
    int left = world->size - 1;
    for (int rank = 1; rank < world->size; rank++) {
        MPI_Request told;
        MPI_Isend(NULL, 0, MPI_BYTE, rank, TAG_STOP, world->own, &told);
        MPI_Request_free(&told);
        MPI_Irecv(&givings[rank].size, 1, MPI_UINT64_T, rank, TAG_SIZE, world->own,
                  &givings[rank].request);
    }
    while (left > 0 && clock_now() < deadline) {
        left = 0;
        take_reports(world);
        for (int rank = 1; rank < world->size; rank++) {
            take_part(world, &givings[rank], rank);
            left += !givings[rank].is_whole;
        }
        mpirun_nap();
    }
}

// Memory that MPI may still write to stays.
void mpirun_gather_failed(World *world, InterpResult *result, BackEndAnswer *out, Err *err) {
    const BackEndRequest *request = world->request;
    Giving *givings = mem_alloc((size_t)world->size, sizeof *givings);
    ResultPart *parts = mem_alloc((size_t)world->size, sizeof *parts);
    Text mine = {0};
    Err unfit = {0};
    make_report(world, err, &world->reports[0]);
    if (world->first < 0) world->first = 0;
    if (world->reports[world->first].is_silence) wait_for_reports(world);
    take_parts(world, givings);
    blame(world, err);
    result_pack(request->job, result, &mine);
    if (mine.length > 0) parts[0] = (ResultPart){(const uint8_t *)mine.data, mine.length};
    for (int rank = 1; rank < world->size; rank++)
        if (givings[rank].is_whole && givings[rank].size > 0)
            parts[rank] = (ResultPart){givings[rank].bytes, (size_t)givings[rank].size};
    // where parts of others do not fit, its own alone; the failure is what is told in any case
    uint32_t repeats = request->options->repeats;
    if (!result_merge(request->job, repeats, parts, (uint32_t)world->size, &out->result, &unfit))
        result_merge(request->job, repeats, parts, 1, &out->result, &unfit);
    text_free(&mine);
    mem_free(parts);
    end_with_this();
}

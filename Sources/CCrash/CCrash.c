#define _GNU_SOURCE
#include "CCrash.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

_Static_assert(sizeof(struct crash_slot) == 256, "a slot is 256 bytes, in the file too");

#define RECORDS 4096
#define PATH_LENGTH 4096
#define NEW ".new"

struct crash_record {
    char path[PATH_LENGTH];
    /// Where the file is written before it gets its name.
    char fresh[PATH_LENGTH];
    int slots;
    int is_written;
    /// `count` of each slot at the last look.
    uint64_t *seen;
    struct crash_slot *slot;
};

// Records that a signal handler reads. Each is complete when it is added, and removed before it
// is freed.
static struct crash_record *records[RECORDS];

struct crash_record *crash_open(const char *path, int slots) {
    if (slots < 1 || strlen(path) + sizeof NEW > PATH_LENGTH) return NULL;
    struct crash_record *record = calloc(1, sizeof *record);
    if (!record) return NULL;
    strcpy(record->path, path);
    strcpy(record->fresh, path);
    strcat(record->fresh, NEW);
    // A process that was killed while it wrote may have left one.
    unlink(record->fresh);
    record->slots = slots;
    record->seen = calloc((size_t)slots, sizeof *record->seen);
    record->slot = calloc((size_t)slots, sizeof *record->slot);
    if (record->seen && record->slot)
        for (int i = 0; i < RECORDS; i++) {
            struct crash_record *vacant = NULL;
            if (__atomic_compare_exchange_n(
                    &records[i], &vacant, record, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
                return record;
        }
    crash_free(record);
    return NULL;
}

struct crash_slot *crash_slot_at(struct crash_record *record, int index) {
    return index >= 0 && index < record->slots ? &record->slot[index] : NULL;
}

// MARK: On the loops

// A thread whose stack has overflowed has no room for a handler. So each thread that calls
// reactors' code has a separate stack for it, until the thread ends.

#define STACK_BYTES 65536

static pthread_key_t stack_key;
static pthread_once_t stack_once = PTHREAD_ONCE_INIT;
static int catches;
static __thread int has_stack;

static void free_stack(void *memory) {
    stack_t none = {.ss_flags = SS_DISABLE};
    sigaltstack(&none, NULL);
    munmap(memory, STACK_BYTES);
}

static void make_stack_key(void) { pthread_key_create(&stack_key, free_stack); }

static __attribute__((noinline)) void give_stack(void) {
    has_stack = 1;
    stack_t present;
    if (sigaltstack(NULL, &present) != 0 || !(present.ss_flags & SS_DISABLE)) return;
    void *memory =
        mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return;
    stack_t stack = {.ss_sp = memory, .ss_size = STACK_BYTES};
    pthread_once(&stack_once, make_stack_key);
    if (sigaltstack(&stack, NULL) != 0 || pthread_setspecific(stack_key, memory) != 0)
        free_stack(memory);
}

void crash_name(
    struct crash_slot *slot, uint64_t owner, const uint8_t *session, uint8_t session_length,
    const uint8_t *reactor, uint8_t reactor_length) {
    __atomic_store_n(&slot->head, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&slot->tail, 0, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    slot->session_length =
        session_length < sizeof slot->session ? session_length : sizeof slot->session;
    slot->reactor_length =
        reactor_length < sizeof slot->reactor ? reactor_length : sizeof slot->reactor;
    memcpy(slot->session, session, slot->session_length);
    memcpy(slot->reactor, reactor, slot->reactor_length);
    __atomic_store_n(&slot->tail, owner, __ATOMIC_RELEASE);
    __atomic_store_n(&slot->head, owner, __ATOMIC_RELEASE);
}

void crash_begin(struct crash_slot *slot, uint64_t work, uint64_t action) {
    if (__builtin_expect(!has_stack, 0)) give_stack();
    slot->action = action;
    __atomic_store_n(&slot->count, slot->count + 1, __ATOMIC_RELAXED);
    __atomic_store_n(&slot->work, work, __ATOMIC_RELEASE);
}

void crash_end(struct crash_slot *slot) { __atomic_store_n(&slot->work, 0, __ATOMIC_RELEASE); }

// MARK: On other threads

int crash_read(const struct crash_slot *slot, struct crash_slot *copy) {
    uint64_t head = __atomic_load_n(&slot->head, __ATOMIC_ACQUIRE);
    uint64_t work = __atomic_load_n(&slot->work, __ATOMIC_ACQUIRE);
    uint64_t count = __atomic_load_n(&slot->count, __ATOMIC_ACQUIRE);
    if (!work || !head) return 0;
    // Word by word: the loop may be writing, and the copy is then dropped.
    const uint64_t *from = (const uint64_t *)slot;
    uint64_t *to = (uint64_t *)copy;
    for (size_t i = 0; i < sizeof *slot / sizeof *from; i++)
        to[i] = __atomic_load_n(&from[i], __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return copy->head == head && copy->tail == head && copy->work == work && copy->count == count
        && __atomic_load_n(&slot->head, __ATOMIC_RELAXED) == head
        && __atomic_load_n(&slot->work, __ATOMIC_RELAXED) == work
        && __atomic_load_n(&slot->count, __ATOMIC_RELAXED) == count;
}

// MARK: Writing

/// Async-signal-safe. The file gets its name when it is complete: a process may be killed at any
/// moment, and a file that is written in place would be empty then.
static int write_out(struct crash_record *record) {
    int file = open(record->fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0) return 0;
    const char *from = (const char *)record->slot;
    size_t left = (size_t)record->slots * sizeof *record->slot;
    while (left > 0) {
        ssize_t count = write(file, from, left);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) break;
        from += count;
        left -= (size_t)count;
    }
    close(file);
    if (left == 0 && rename(record->fresh, record->path) == 0) return 1;
    unlink(record->fresh);
    return 0;
}

void crash_look(struct crash_record *record) {
    int is_stuck = 0;
    for (int i = 0; i < record->slots; i++) {
        uint64_t work = __atomic_load_n(&record->slot[i].work, __ATOMIC_ACQUIRE);
        uint64_t count = __atomic_load_n(&record->slot[i].count, __ATOMIC_RELAXED);
        if (work && record->seen[i] == count) is_stuck = 1;
        record->seen[i] = count;
    }
    if (is_stuck) {
        // One that could not be replaced stays.
        record->is_written |= write_out(record);
    } else if (record->is_written) {
        unlink(record->path);
        record->is_written = 0;
    }
}

void crash_close(struct crash_record *record) {
    for (int i = 0; i < RECORDS; i++) {
        struct crash_record *expected = record;
        if (__atomic_compare_exchange_n(
                &records[i], &expected, NULL, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
            if (record->is_written) unlink(record->path);
            record->is_written = 0;
        }
    }
}

void crash_free(struct crash_record *record) {
    free(record->seen);
    free(record->slot);
    free(record);
}

// MARK: Signals

static const int signals[] = {SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV};
#define SIGNALS (sizeof signals / sizeof signals[0])
static struct sigaction before[SIGNALS];

static void write_all(void) {
    for (int i = 0; i < RECORDS; i++) {
        struct crash_record *record = __atomic_load_n(&records[i], __ATOMIC_ACQUIRE);
        if (!record) continue;
        for (int j = 0; j < record->slots; j++)
            if (__atomic_load_n(&record->slot[j].work, __ATOMIC_ACQUIRE)) {
                write_out(record);
                break;
            }
    }
}

static void caught(int signal, siginfo_t *info, void *context) {
    (void)context;
    int code = errno;
    write_all();
    for (size_t i = 0; i < SIGNALS; i++)
        if (signals[i] == signal) sigaction(signal, &before[i], NULL);
    // A fault recurs by itself at the same instruction; a sent signal has to be raised again.
    if (info->si_code <= 0 || signal == SIGABRT) raise(signal);
    errno = code;
}

void crash_catch_signals(void) {
    if (__atomic_exchange_n(&catches, 1, __ATOMIC_ACQ_REL)) return;
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = caught;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < SIGNALS; i++) sigaction(signals[i], &action, &before[i]);
}

// Writes down the work that a server's loops are carrying out if the process ends because of it.
//
// Design: a loop fills a slot in ordinary memory before it calls a reactor's code, and empties it
// afterwards: a few stores. When a signal ends the process (a Swift trap is SIGILL or SIGTRAP), a
// handler writes all slots to a file and lets the signal do what it would have done. What no handler
// sees (SIGKILL, a system out of memory) is found if it took long: once a second, the file is
// written while a loop has been busy with one thing since the last look.
//
// Why not a file that is mapped: storing into a page that was written back may wait for the disk, and
// ends the process (SIGBUS) when the disk fails; ADR-0018.
#pragma once

#include <stdint.h>

/// One loop's. Written by the loop alone, in this order: `head` and `tail` 0, the names, `tail`,
/// `head`; then `action`, `work`, for each call. A copy whose `head` is not its `tail` was made
/// meanwhile.
struct crash_slot {
    uint64_t head;
    /// The work that is being carried out; 0: none.
    uint64_t work;
    uint64_t action;
    /// How often something was begun.
    uint64_t count;
    uint8_t session_length;
    uint8_t reactor_length;
    uint8_t unused[22];
    uint8_t session[128];
    uint8_t reactor[64];
    uint64_t tail;
};

struct crash_record;

/// A record that goes to `path` when it is needed; NULL if there is no memory for it, the path is
/// too long, or 4096 of them are open in this process.
struct crash_record *crash_open(const char *path, int slots);

/// Slot `index` of the record, which is there until `crash_free`.
struct crash_slot *crash_slot_at(struct crash_record *record, int index);

/// Names the session of which something is carried out from now on. `owner` is above 0.
void crash_name(
    struct crash_slot *slot, uint64_t owner, const uint8_t *session, uint8_t session_length,
    const uint8_t *reactor, uint8_t reactor_length);

/// The same session's code is called.
void crash_begin(struct crash_slot *slot, uint64_t work, uint64_t action);

/// It has returned.
void crash_end(struct crash_slot *slot);

/// Writes the file if a loop has been busy with one thing since the last look; else removes what an
/// earlier look has written. From one thread at a time.
void crash_look(struct crash_record *record);

/// The process ends cleanly, or lives on without this record: the file is removed.
void crash_close(struct crash_record *record);

/// Nobody writes to its slots any more. Closed before.
void crash_free(struct crash_record *record);

/// Writes the records when one of the signals ends the process that a fault raises. Once for a
/// process; handlers that were there before are called behind it.
void crash_catch_signals(void);

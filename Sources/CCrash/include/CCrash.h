// Writes down the work that a server's loops are carrying out if the process ends because of it.
//
// Design: a loop fills a slot in ordinary memory before it calls a reactor's code, and empties it
// afterwards: a few stores. When a signal ends the process (a Swift trap is SIGILL or SIGTRAP), a
// handler writes all slots to a file and then lets the signal take its course. An end without a
// handler (SIGKILL, out of memory) is covered if the work took long: once a second, the file is
// written if a loop has been busy with one thing since the last look.
//
// Why not a mapped file: a store into a page that was written back may wait for the disk, and ends
// the process (SIGBUS) when the disk fails; ADR-0018.
#pragma once

#include <stdint.h>

/// The slot of one loop. Written only by the loop, in this order: `head` and `tail` 0, the names,
/// `tail`, `head`; then `action`, `work`, for each call. A copy whose `head` differs from its
/// `tail` was made during a write.
struct crash_slot {
    uint64_t head;
    /// The work that is being carried out; 0: none.
    uint64_t work;
    uint64_t action;
    /// The number of calls begun.
    uint64_t count;
    uint8_t session_length;
    uint8_t reactor_length;
    uint8_t unused[22];
    uint8_t session[128];
    uint8_t reactor[64];
    uint64_t tail;
};

struct crash_record;

/// A record that is written to `path` on demand; NULL if there is no memory for it, the path is too
/// long, or 4096 of them are open in this process.
struct crash_record *crash_open(const char *path, int slots);

/// Slot `index` of the record, valid until `crash_free`.
struct crash_slot *crash_slot_at(struct crash_record *record, int index);

/// Names the session whose work follows. `owner` is above 0.
void crash_name(
    struct crash_slot *slot, uint64_t owner, const uint8_t *session, uint8_t session_length,
    const uint8_t *reactor, uint8_t reactor_length);

/// Begins a call of the same session's code.
void crash_begin(struct crash_slot *slot, uint64_t work, uint64_t action);

/// Ends the call.
void crash_end(struct crash_slot *slot);

/// Copies a slot while another thread may write to it. Returns 0 if no call is under way, or if it
/// has changed meanwhile.
int crash_read(const struct crash_slot *slot, struct crash_slot *copy);

/// Writes the file if a loop has been busy with one thing since the last look; else removes the
/// file of an earlier look. Called from one thread at a time.
void crash_look(struct crash_record *record);

/// The process ends cleanly, or continues without this record: removes the file.
void crash_close(struct crash_record *record);

/// Frees a closed record. No loop may write to its slots any more.
void crash_free(struct crash_record *record);

/// Makes the signals of a fault write the records before they end the process. Once per process;
/// earlier handlers are called afterwards.
void crash_catch_signals(void);

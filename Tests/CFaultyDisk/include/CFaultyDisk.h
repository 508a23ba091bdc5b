// A disk that fails on demand: an SQLite VFS in front of the system's own.
//
// It passes every call on, except for files whose path begins with that of an active fault. For
// tests only.
#pragma once

/// Operations that a fault refuses, and counts.
enum faulty_operation {
    FAULTY_WRITE = 0,
    FAULTY_SYNC = 1,
    FAULTY_OPEN = 2,
    FAULTY_OPERATIONS = 3
};

/// Makes it the default for all connections that are opened later. Once per process.
void faulty_install(void);

/// Refuses all such operations on files at `path…` with `code` (an SQLite result code), from the
/// `skip`-th one on. One fault for each operation and path; a later one replaces it.
void faulty_begin(const char *path, enum faulty_operation operation, long skip, int code);

/// The system's code that files at `path…` report for their last failed call, until the faults end.
void faulty_system_code(const char *path, int code);

/// Keeps later writes to exactly the file `path` in memory until they are flushed: after `skip`
/// flushes one is refused with `code`, and all writes since the previous flush are lost. Then the
/// file works again.
void faulty_lose(const char *path, long skip, int code);

/// Whether that has happened.
int faulty_has_lost(const char *path);

/// Makes flushes of files at `path…` hang.
void faulty_stall(const char *path);

/// Lets them end again; faults that refuse operations stay.
void faulty_go_on(const char *path);

/// Whether a flush hangs.
int faulty_is_stalled(const char *path);

/// Ends all faults at `path`.
void faulty_end(const char *path);

/// The number of such operations on files at `path…` since the process began, for paths that were
/// asked about before.
long faulty_count(const char *path, enum faulty_operation operation);

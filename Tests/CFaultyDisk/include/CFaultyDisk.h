// A disk that fails on demand: an SQLite VFS in front of the system's own.
//
// Everything goes through as it is, except for files whose path begins with that of a fault that is
// in force. For tests only.
#pragma once

/// What a fault refuses, and counts.
enum faulty_operation {
    FAULTY_WRITE = 0,
    FAULTY_SYNC = 1,
    FAULTY_OPEN = 2,
    FAULTY_OPERATIONS = 3
};

/// Makes it the default for all connections that are opened from now on. Once for a process.
void faulty_install(void);

/// From the `skip`-th such operation on files at `path…` on, all are refused with `code`
/// (an SQLite result code). One fault for each operation and path; a later one takes its place.
void faulty_begin(const char *path, enum faulty_operation operation, long skip, int code);

/// From now on what is written to the very file `path` is in no more than memory until it is
/// flushed: after `skip` flushes one is refused with `code`, and with it all that was written since
/// the one before is lost. Then the file is well again.
void faulty_lose(const char *path, long skip, int code);

/// Whether that has happened.
int faulty_has_lost(const char *path);

/// From now on flushes of files at `path…` do not end.
void faulty_stall(const char *path);

/// From now on they end again; what is to be refused still is.
void faulty_go_on(const char *path);

/// Whether one waits.
int faulty_is_stalled(const char *path);

/// The disk is well again.
void faulty_end(const char *path);

/// How many such operations on files at `path…` were carried out since the process began; paths of
/// which something was asked before.
long faulty_count(const char *path, enum faulty_operation operation);

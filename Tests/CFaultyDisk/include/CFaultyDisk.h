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

/// The disk is well again.
void faulty_end(const char *path);

/// How many such operations on files at `path…` were carried out since the process began; paths of
/// which something was asked before.
long faulty_count(const char *path, enum faulty_operation operation);

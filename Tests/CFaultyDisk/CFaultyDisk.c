#include "CFaultyDisk.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define PATHS 4096
#define PATH_LENGTH 512

// The previous content of bytes that were written and not yet flushed.
struct overwritten {
    struct overwritten *before;
    sqlite3_int64 at;
    int n;
    char bytes[];
};

struct place {
    char path[PATH_LENGTH];
    int refuses[FAULTY_OPERATIONS];
    long skip[FAULTY_OPERATIONS];
    int code[FAULTY_OPERATIONS];
    int system_code;
    long count[FAULTY_OPERATIONS];
    int stalls;
    int is_stalled;
    int loses;
    int has_lost;
    long flushes_before;
    int loss_code;
    struct overwritten *unflushed;
};

struct faulty_file {
    sqlite3_file base;
    char path[PATH_LENGTH];
    sqlite3_file *real;
};

// Tests run concurrently, and connections have their own threads.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t healed = PTHREAD_COND_INITIALIZER;
static struct place places[PATHS];
static int place_count;
static sqlite3_vfs *real_vfs;
static sqlite3_vfs faulty_vfs;

static struct place *place_of(const char *path) {
    for (int i = 0; i < place_count; i++)
        if (strcmp(places[i].path, path) == 0) return &places[i];
    if (place_count == PATHS || strlen(path) >= PATH_LENGTH) return NULL;
    struct place *fresh = &places[place_count++];
    memset(fresh, 0, sizeof *fresh);
    strcpy(fresh->path, path);
    return fresh;
}

void faulty_begin(const char *path, enum faulty_operation operation, long skip, int code) {
    pthread_mutex_lock(&lock);
    struct place *place = place_of(path);
    if (place) {
        place->refuses[operation] = 1;
        place->skip[operation] = skip;
        place->code[operation] = code;
    }
    pthread_mutex_unlock(&lock);
}

void faulty_system_code(const char *path, int code) {
    pthread_mutex_lock(&lock);
    struct place *place = place_of(path);
    if (place) place->system_code = code;
    pthread_mutex_unlock(&lock);
}

void faulty_lose(const char *path, long skip, int code) {
    pthread_mutex_lock(&lock);
    struct place *place = place_of(path);
    if (place) {
        place->loses = 1;
        place->flushes_before = skip;
        place->loss_code = code;
    }
    pthread_mutex_unlock(&lock);
}

int faulty_has_lost(const char *path) {
    pthread_mutex_lock(&lock);
    struct place *place = place_of(path);
    int has_lost = place ? place->has_lost : 0;
    pthread_mutex_unlock(&lock);
    return has_lost;
}

void faulty_end(const char *path) {
    pthread_mutex_lock(&lock);
    struct place *place = place_of(path);
    if (place) {
        memset(place->refuses, 0, sizeof place->refuses);
        place->system_code = 0;
        place->stalls = 0;
        pthread_cond_broadcast(&healed);
    }
    pthread_mutex_unlock(&lock);
}

void faulty_go_on(const char *path) {
    pthread_mutex_lock(&lock);
    struct place *place = place_of(path);
    if (place) {
        place->stalls = 0;
        pthread_cond_broadcast(&healed);
    }
    pthread_mutex_unlock(&lock);
}

void faulty_stall(const char *path) {
    pthread_mutex_lock(&lock);
    struct place *place = place_of(path);
    if (place) place->stalls = 1;
    pthread_mutex_unlock(&lock);
}

int faulty_is_stalled(const char *path) {
    pthread_mutex_lock(&lock);
    struct place *place = place_of(path);
    int is_stalled = place ? place->is_stalled : 0;
    pthread_mutex_unlock(&lock);
    return is_stalled;
}

/// A flush waits while the disk hangs.
static void wait_for(const char *path) {
    pthread_mutex_lock(&lock);
    for (int i = 0; i < place_count; i++) {
        struct place *place = &places[i];
        if (strncmp(path, place->path, strlen(place->path)) != 0) continue;
        while (place->stalls) {
            place->is_stalled = 1;
            pthread_cond_wait(&healed, &lock);
        }
        place->is_stalled = 0;
    }
    pthread_mutex_unlock(&lock);
}

long faulty_count(const char *path, enum faulty_operation operation) {
    pthread_mutex_lock(&lock);
    struct place *place = place_of(path);
    long count = place ? place->count[operation] : -1;
    pthread_mutex_unlock(&lock);
    return count;
}

/// The code to refuse with; SQLITE_OK: carry it out.
static int ask(const char *path, enum faulty_operation operation) {
    int code = SQLITE_OK;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < place_count; i++) {
        struct place *place = &places[i];
        if (strncmp(path, place->path, strlen(place->path)) != 0) continue;
        if (place->refuses[operation] && place->skip[operation]-- <= 0)
            code = place->code[operation];
        else
            place->count[operation]++;
    }
    pthread_mutex_unlock(&lock);
    return code;
}

#define REAL(file) (((struct faulty_file *)(file))->real)
#define METHODS(file) (REAL(file)->pMethods)

/// The entry of a file whose unflushed writes are to be lost, if the file is one; call with the
/// lock held.
static struct place *forgetful(sqlite3_file *f) {
    for (int i = 0; i < place_count; i++)
        if (places[i].loses && strcmp(places[i].path, ((struct faulty_file *)f)->path) == 0)
            return &places[i];
    return NULL;
}

/// Before a write: keeps the previous content.
static void remember(sqlite3_file *f, int n, sqlite3_int64 at) {
    pthread_mutex_lock(&lock);
    struct place *place = forgetful(f);
    struct overwritten *old = place ? calloc(1, sizeof *old + (size_t)n) : NULL;
    if (old) {
        old->before = place->unflushed;
        old->at = at;
        old->n = n;
        // Beyond the end it reads as zeros.
        METHODS(f)->xRead(REAL(f), old->bytes, n, at);
        place->unflushed = old;
    }
    pthread_mutex_unlock(&lock);
}

/// The code with which to refuse a flush, if this is the one; then all writes since the previous
/// flush are lost.
static int lose(sqlite3_file *f) {
    int code = SQLITE_OK;
    pthread_mutex_lock(&lock);
    struct place *place = forgetful(f);
    if (place) {
        int loses = place->flushes_before-- <= 0;
        while (place->unflushed) {
            struct overwritten *old = place->unflushed;
            place->unflushed = old->before;
            if (loses) METHODS(f)->xWrite(REAL(f), old->bytes, old->n, old->at);
            free(old);
        }
        if (loses) {
            code = place->loss_code;
            place->loses = 0;
            place->has_lost = 1;
        }
    }
    pthread_mutex_unlock(&lock);
    return code;
}

static int f_close(sqlite3_file *f) { return METHODS(f)->xClose(REAL(f)); }
static int f_read(sqlite3_file *f, void *to, int n, sqlite3_int64 at) {
    return METHODS(f)->xRead(REAL(f), to, n, at);
}
static int f_write(sqlite3_file *f, const void *from, int n, sqlite3_int64 at) {
    int code = ask(((struct faulty_file *)f)->path, FAULTY_WRITE);
    if (code == SQLITE_OK) remember(f, n, at);
    return code ? code : METHODS(f)->xWrite(REAL(f), from, n, at);
}
static int f_truncate(sqlite3_file *f, sqlite3_int64 n) {
    return METHODS(f)->xTruncate(REAL(f), n);
}
static int f_sync(sqlite3_file *f, int flags) {
    wait_for(((struct faulty_file *)f)->path);
    int code = ask(((struct faulty_file *)f)->path, FAULTY_SYNC);
    if (code == SQLITE_OK) code = lose(f);
    return code ? code : METHODS(f)->xSync(REAL(f), flags);
}
static int f_size(sqlite3_file *f, sqlite3_int64 *n) { return METHODS(f)->xFileSize(REAL(f), n); }
static int f_lock(sqlite3_file *f, int l) { return METHODS(f)->xLock(REAL(f), l); }
static int f_unlock(sqlite3_file *f, int l) { return METHODS(f)->xUnlock(REAL(f), l); }
static int f_reserved(sqlite3_file *f, int *r) {
    return METHODS(f)->xCheckReservedLock(REAL(f), r);
}
/// The file's own code for its last failed call: SQLite keeps it beside `errno`.
static int system_code(const char *path) {
    int code = 0;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < place_count; i++)
        if (places[i].system_code && strncmp(path, places[i].path, strlen(places[i].path)) == 0)
            code = places[i].system_code;
    pthread_mutex_unlock(&lock);
    return code;
}
static int f_control(sqlite3_file *f, int op, void *arg) {
    int code = op == SQLITE_FCNTL_LAST_ERRNO ? system_code(((struct faulty_file *)f)->path) : 0;
    if (code) {
        *(int *)arg = code;
        return SQLITE_OK;
    }
    return METHODS(f)->xFileControl(REAL(f), op, arg);
}
static int f_sector(sqlite3_file *f) { return METHODS(f)->xSectorSize(REAL(f)); }
static int f_traits(sqlite3_file *f) { return METHODS(f)->xDeviceCharacteristics(REAL(f)); }
static int f_shm_map(sqlite3_file *f, int page, int size, int extend, void volatile **to) {
    return METHODS(f)->xShmMap(REAL(f), page, size, extend, to);
}
static int f_shm_lock(sqlite3_file *f, int at, int n, int flags) {
    return METHODS(f)->xShmLock(REAL(f), at, n, flags);
}
static void f_shm_barrier(sqlite3_file *f) { METHODS(f)->xShmBarrier(REAL(f)); }
static int f_shm_unmap(sqlite3_file *f, int drop) {
    return METHODS(f)->xShmUnmap(REAL(f), drop);
}

static const sqlite3_io_methods methods = {
    .iVersion = 2, .xClose = f_close, .xRead = f_read, .xWrite = f_write,
    .xTruncate = f_truncate, .xSync = f_sync, .xFileSize = f_size, .xLock = f_lock,
    .xUnlock = f_unlock, .xCheckReservedLock = f_reserved, .xFileControl = f_control,
    .xSectorSize = f_sector, .xDeviceCharacteristics = f_traits, .xShmMap = f_shm_map,
    .xShmLock = f_shm_lock, .xShmBarrier = f_shm_barrier, .xShmUnmap = f_shm_unmap,
};

static int f_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *f, int flags, int *out) {
    (void)vfs;
    struct faulty_file *file = (struct faulty_file *)f;
    file->base.pMethods = NULL;
    file->path[0] = 0;
    if (name) strncat(file->path, name, PATH_LENGTH - 1);
    int code = ask(file->path, FAULTY_OPEN);
    if (code) return code;
    file->real = (sqlite3_file *)(file + 1);
    code = real_vfs->xOpen(real_vfs, name, file->real, flags, out);
    if (file->real->pMethods) file->base.pMethods = &methods;
    return code;
}

void faulty_install(void) {
    pthread_mutex_lock(&lock);
    if (!real_vfs) {
        real_vfs = sqlite3_vfs_find(NULL);
        faulty_vfs = *real_vfs;
        faulty_vfs.zName = "faulty";
        faulty_vfs.szOsFile = (int)sizeof(struct faulty_file) + real_vfs->szOsFile;
        faulty_vfs.xOpen = f_open;
        sqlite3_vfs_register(&faulty_vfs, 1);
    }
    pthread_mutex_unlock(&lock);
}

// Swift does not import `renameat2`: Glibc declares it for _GNU_SOURCE alone.
#define _GNU_SOURCE
#include "CFiles.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

int files_rename_new(const char *path, const char *name) {
#if defined(__APPLE__)
    return renamex_np(path, name, RENAME_EXCL) == 0 ? 0 : errno;
#elif defined(SYS_renameat2)
    // By its number: musl has no function for it. 1 is RENAME_NOREPLACE.
    return syscall(SYS_renameat2, AT_FDCWD, path, AT_FDCWD, name, 1) == 0 ? 0 : errno;
#else
    (void)path;
    (void)name;
    return ENOSYS;
#endif
}

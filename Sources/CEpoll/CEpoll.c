#define _GNU_SOURCE
#include "CEpoll.h"

#if defined(__linux__)
#include <errno.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int epoll_wait_nanoseconds(
    int descriptor, struct epoll_event *events, int count, int64_t nanoseconds) {
#if defined(SYS_epoll_pwait2) && __SIZEOF_LONG__ == 8
    struct timespec limit = {.tv_sec = nanoseconds / 1000000000, .tv_nsec = nanoseconds % 1000000000};
    return (int)syscall(SYS_epoll_pwait2, descriptor, events, count, &limit, NULL, 0L);
#else
    errno = ENOSYS;
    return -1;
#endif
}
#endif

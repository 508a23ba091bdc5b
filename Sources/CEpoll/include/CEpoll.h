// Functions that Swift's Glibc module does not expose: epoll, eventfd, and accept4 with a nullable
// address.
// Seen on Swift 6.3.1; `import Glibc; _ = epoll_create1(0)` shows whether it is still needed.
#ifndef CEPOLL_H
#define CEPOLL_H
#if defined(__linux__)
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

extern int accept4(int descriptor, struct sockaddr *_Nullable address,
                   socklen_t *_Nullable length, int flags);

/// epoll_pwait2(2) by its number: older C libraries do not have it. ENOSYS if the kernel (before
/// 5.11) does not have it either. `nanoseconds` is from 0 on.
int epoll_wait_nanoseconds(int descriptor, struct epoll_event *_Nonnull events, int count,
                           int64_t nanoseconds);
#endif
#endif

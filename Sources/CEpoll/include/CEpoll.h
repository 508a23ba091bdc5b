// Functions that Swift's Glibc module does not expose: epoll, and accept4 with a nullable address.
// Seen on Swift 6.3.1; `import Glibc; _ = epoll_create1(0)` shows whether it is still needed.
#ifndef CEPOLL_H
#define CEPOLL_H
#if defined(__linux__)
#include <sys/epoll.h>
#include <sys/socket.h>

extern int accept4(int descriptor, struct sockaddr *_Nullable address,
                   socklen_t *_Nullable length, int flags);
#endif
#endif

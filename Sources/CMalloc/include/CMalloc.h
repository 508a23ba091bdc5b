// Functions that Swift's Glibc module does not expose: malloc_trim(3), mallopt(3).
// Seen on Swift 6.3.1; `import Glibc; _ = malloc_trim(0)` shows whether it is still needed.
#ifndef CMALLOC_H
#define CMALLOC_H
#if defined(__linux__)
#include <malloc.h>
#endif
#endif

// A function that Swift's Glibc module does not expose: an extension of glibc 2.34. Seen on Swift
// 6.3.1; `import Glibc; _ = posix_spawn_file_actions_addclosefrom_np` shows whether it is still
// needed.
#ifndef CSPAWN_SHIM_H
#define CSPAWN_SHIM_H

#include <spawn.h>

extern int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *_Nonnull actions,
                                                    int first);

#endif

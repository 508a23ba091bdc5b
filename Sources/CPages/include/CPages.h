// The files that the server serves as they are in this repository, embedded by the C compiler.
//
// Why C: `#embed` costs the build nothing, where an array literal of Swift of this size takes a
// minute. The compiler lists the files as dependencies, so a changed file is embedded again.
#pragma once

#include <stddef.h>
#include <stdint.h>

/// A file and the path at which it is served.
struct page {
    const char *path;
    const char *media_type;
    const uint8_t *bytes;
    size_t count;
};

/// The number of pages.
size_t page_count(void);

/// Page `index`, below `page_count()`; valid as long as the process.
const struct page *page_at(size_t index);

/// The FNV-1a hash of bytes, for entity tags.
uint64_t page_hash(const uint8_t *bytes, size_t count);

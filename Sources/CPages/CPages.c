#include "CPages.h"

// C23 6.10.4. In an earlier language mode clang has it as an extension.
#pragma clang diagnostic ignored "-Wc23-extensions"

static const uint8_t openapi_yaml[] = {
#embed "../../openapi.yaml"
};
static const uint8_t console_html[] = {
#embed "../Console/console.html"
};
static const uint8_t console_css[] = {
#embed "../Console/console.css"
};
static const uint8_t console_js[] = {
#embed "../Console/console.js"
};

static const char html[] = "text/html; charset=utf-8";
static const char css[] = "text/css; charset=utf-8";
static const char javascript[] = "text/javascript; charset=utf-8";

#define PAGE(path, type, name) {path, type, name, sizeof name}

static const struct page pages[] = {
    PAGE("/openapi.yaml", "application/yaml", openapi_yaml),
    PAGE("/console", html, console_html),
    PAGE("/console/console.css", css, console_css),
    PAGE("/console/console.js", javascript, console_js),
};

size_t page_count(void) { return sizeof pages / sizeof pages[0]; }

const struct page *page_at(size_t index) { return &pages[index]; }

uint64_t page_hash(const uint8_t *bytes, size_t count) {
    uint64_t hash = 0xcbf29ce484222325;
    for (size_t index = 0; index < count; index++) hash = (hash ^ bytes[index]) * 0x100000001b3;
    return hash;
}

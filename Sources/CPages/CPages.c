#include "CPages.h"

// C23 6.10.4. In an earlier language mode clang has it as an extension.
#pragma clang diagnostic ignored "-Wc23-extensions"

static const uint8_t openapi_yaml[] = {
#embed "../../openapi.yaml"
};
static const uint8_t console_console_css[] = {
#embed "../Console/console.css"
};
static const uint8_t console_console_html[] = {
#embed "../Console/console.html"
};
static const uint8_t console_console_js[] = {
#embed "../Console/console.js"
};
static const uint8_t console_diff_js[] = {
#embed "../Console/diff.js"
};
static const uint8_t console_dom_js[] = {
#embed "../Console/dom.js"
};
static const uint8_t console_entries_js[] = {
#embed "../Console/entries.js"
};
static const uint8_t console_export_js[] = {
#embed "../Console/export.js"
};
static const uint8_t console_form_js[] = {
#embed "../Console/form.js"
};
static const uint8_t console_metrics_js[] = {
#embed "../Console/metrics.js"
};
static const uint8_t console_plots_js[] = {
#embed "../Console/plots.js"
};
static const uint8_t console_pulses_js[] = {
#embed "../Console/pulses.js"
};
static const uint8_t console_router_js[] = {
#embed "../Console/router.js"
};
static const uint8_t console_rows_js[] = {
#embed "../Console/rows.js"
};
static const uint8_t console_schema_js[] = {
#embed "../Console/schema.js"
};
static const uint8_t console_scrubber_js[] = {
#embed "../Console/scrubber.js"
};
static const uint8_t console_sending_js[] = {
#embed "../Console/sending.js"
};
static const uint8_t console_server_js[] = {
#embed "../Console/server.js"
};
static const uint8_t console_session_js[] = {
#embed "../Console/session.js"
};
static const uint8_t console_sessions_js[] = {
#embed "../Console/sessions.js"
};
static const uint8_t console_timeline_js[] = {
#embed "../Console/timeline.js"
};
static const uint8_t console_tree_js[] = {
#embed "../Console/tree.js"
};
static const uint8_t console_values_js[] = {
#embed "../Console/values.js"
};
static const uint8_t reactor_client_js[] = {
#embed "../BrowserClient/reactor-client.js"
};
static const uint8_t outbox_indexeddb_js[] = {
#embed "../BrowserClient/outbox-indexeddb.js"
};
static const uint8_t react_js[] = {
#embed "../BrowserClient/react.js"
};
static const uint8_t reactor_client_adopting_js[] = {
#embed "../BrowserClient/reactor-client/adopting.js"
};
static const uint8_t reactor_client_ag_ui_js[] = {
#embed "../BrowserClient/reactor-client/ag-ui.js"
};
static const uint8_t reactor_client_attempts_js[] = {
#embed "../BrowserClient/reactor-client/attempts.js"
};
static const uint8_t reactor_client_calls_js[] = {
#embed "../BrowserClient/reactor-client/calls.js"
};
static const uint8_t reactor_client_driver_js[] = {
#embed "../BrowserClient/reactor-client/driver.js"
};
static const uint8_t reactor_client_errors_js[] = {
#embed "../BrowserClient/reactor-client/errors.js"
};
static const uint8_t reactor_client_following_js[] = {
#embed "../BrowserClient/reactor-client/following.js"
};
static const uint8_t reactor_client_keeping_js[] = {
#embed "../BrowserClient/reactor-client/keeping.js"
};
static const uint8_t reactor_client_keys_js[] = {
#embed "../BrowserClient/reactor-client/keys.js"
};
static const uint8_t reactor_client_link_js[] = {
#embed "../BrowserClient/reactor-client/link.js"
};
static const uint8_t reactor_client_loading_js[] = {
#embed "../BrowserClient/reactor-client/loading.js"
};
static const uint8_t reactor_client_log_js[] = {
#embed "../BrowserClient/reactor-client/log.js"
};
static const uint8_t reactor_client_machine_js[] = {
#embed "../BrowserClient/reactor-client/machine.js"
};
static const uint8_t reactor_client_narrowing_js[] = {
#embed "../BrowserClient/reactor-client/narrowing.js"
};
static const uint8_t reactor_client_outbox_js[] = {
#embed "../BrowserClient/reactor-client/outbox.js"
};
static const uint8_t reactor_client_overlay_js[] = {
#embed "../BrowserClient/reactor-client/overlay.js"
};
static const uint8_t reactor_client_patching_js[] = {
#embed "../BrowserClient/reactor-client/patching.js"
};
static const uint8_t reactor_client_post_js[] = {
#embed "../BrowserClient/reactor-client/post.js"
};
static const uint8_t reactor_client_posting_js[] = {
#embed "../BrowserClient/reactor-client/posting.js"
};
static const uint8_t reactor_client_prediction_js[] = {
#embed "../BrowserClient/reactor-client/prediction.js"
};
static const uint8_t reactor_client_requests_js[] = {
#embed "../BrowserClient/reactor-client/requests.js"
};
static const uint8_t reactor_client_sender_js[] = {
#embed "../BrowserClient/reactor-client/sender.js"
};
static const uint8_t reactor_client_sending_js[] = {
#embed "../BrowserClient/reactor-client/sending.js"
};
static const uint8_t reactor_client_session_js[] = {
#embed "../BrowserClient/reactor-client/session.js"
};
static const uint8_t reactor_client_storage_js[] = {
#embed "../BrowserClient/reactor-client/storage.js"
};
static const uint8_t reactor_client_streams_js[] = {
#embed "../BrowserClient/reactor-client/streams.js"
};
static const uint8_t reactor_client_tickets_js[] = {
#embed "../BrowserClient/reactor-client/tickets.js"
};
static const uint8_t demo_conversation_css[] = {
#embed "../Demo/conversation.css"
};
static const uint8_t demo_conversation_html[] = {
#embed "../Demo/conversation.html"
};
static const uint8_t demo_conversation_js[] = {
#embed "../Demo/conversation.js"
};
static const uint8_t demo_demo_css[] = {
#embed "../Demo/demo.css"
};
static const uint8_t demo_demo_html[] = {
#embed "../Demo/demo.html"
};
static const uint8_t demo_demo_js[] = {
#embed "../Demo/demo.js"
};
static const uint8_t demo_network_js[] = {
#embed "../Demo/network.js"
};

static const char html[] = "text/html; charset=utf-8";
static const char css[] = "text/css; charset=utf-8";
static const char javascript[] = "text/javascript; charset=utf-8";
static const char yaml[] = "application/yaml";

#define PAGE(path, type, name) {path, type, name, sizeof name}

static const struct page pages[] = {
    PAGE("/openapi.yaml", yaml, openapi_yaml),
    PAGE("/console/console.css", css, console_console_css),
    PAGE("/console", html, console_console_html),
    PAGE("/console/console.js", javascript, console_console_js),
    PAGE("/console/diff.js", javascript, console_diff_js),
    PAGE("/console/dom.js", javascript, console_dom_js),
    PAGE("/console/entries.js", javascript, console_entries_js),
    PAGE("/console/export.js", javascript, console_export_js),
    PAGE("/console/form.js", javascript, console_form_js),
    PAGE("/console/metrics.js", javascript, console_metrics_js),
    PAGE("/console/plots.js", javascript, console_plots_js),
    PAGE("/console/pulses.js", javascript, console_pulses_js),
    PAGE("/console/router.js", javascript, console_router_js),
    PAGE("/console/rows.js", javascript, console_rows_js),
    PAGE("/console/schema.js", javascript, console_schema_js),
    PAGE("/console/scrubber.js", javascript, console_scrubber_js),
    PAGE("/console/sending.js", javascript, console_sending_js),
    PAGE("/console/server.js", javascript, console_server_js),
    PAGE("/console/session.js", javascript, console_session_js),
    PAGE("/console/sessions.js", javascript, console_sessions_js),
    PAGE("/console/timeline.js", javascript, console_timeline_js),
    PAGE("/console/tree.js", javascript, console_tree_js),
    PAGE("/console/values.js", javascript, console_values_js),
    PAGE("/reactor-client.js", javascript, reactor_client_js),
    PAGE("/outbox-indexeddb.js", javascript, outbox_indexeddb_js),
    PAGE("/react.js", javascript, react_js),
    PAGE("/reactor-client/adopting.js", javascript, reactor_client_adopting_js),
    PAGE("/reactor-client/ag-ui.js", javascript, reactor_client_ag_ui_js),
    PAGE("/reactor-client/attempts.js", javascript, reactor_client_attempts_js),
    PAGE("/reactor-client/calls.js", javascript, reactor_client_calls_js),
    PAGE("/reactor-client/driver.js", javascript, reactor_client_driver_js),
    PAGE("/reactor-client/errors.js", javascript, reactor_client_errors_js),
    PAGE("/reactor-client/following.js", javascript, reactor_client_following_js),
    PAGE("/reactor-client/keeping.js", javascript, reactor_client_keeping_js),
    PAGE("/reactor-client/keys.js", javascript, reactor_client_keys_js),
    PAGE("/reactor-client/link.js", javascript, reactor_client_link_js),
    PAGE("/reactor-client/loading.js", javascript, reactor_client_loading_js),
    PAGE("/reactor-client/log.js", javascript, reactor_client_log_js),
    PAGE("/reactor-client/machine.js", javascript, reactor_client_machine_js),
    PAGE("/reactor-client/narrowing.js", javascript, reactor_client_narrowing_js),
    PAGE("/reactor-client/outbox.js", javascript, reactor_client_outbox_js),
    PAGE("/reactor-client/overlay.js", javascript, reactor_client_overlay_js),
    PAGE("/reactor-client/patching.js", javascript, reactor_client_patching_js),
    PAGE("/reactor-client/post.js", javascript, reactor_client_post_js),
    PAGE("/reactor-client/posting.js", javascript, reactor_client_posting_js),
    PAGE("/reactor-client/prediction.js", javascript, reactor_client_prediction_js),
    PAGE("/reactor-client/requests.js", javascript, reactor_client_requests_js),
    PAGE("/reactor-client/sender.js", javascript, reactor_client_sender_js),
    PAGE("/reactor-client/sending.js", javascript, reactor_client_sending_js),
    PAGE("/reactor-client/session.js", javascript, reactor_client_session_js),
    PAGE("/reactor-client/storage.js", javascript, reactor_client_storage_js),
    PAGE("/reactor-client/streams.js", javascript, reactor_client_streams_js),
    PAGE("/reactor-client/tickets.js", javascript, reactor_client_tickets_js),
    PAGE("/demo/conversation.css", css, demo_conversation_css),
    PAGE("/demo/conversation.html", html, demo_conversation_html),
    PAGE("/demo/conversation.js", javascript, demo_conversation_js),
    PAGE("/demo/demo.css", css, demo_demo_css),
    PAGE("/demo", html, demo_demo_html),
    PAGE("/demo/demo.js", javascript, demo_demo_js),
    PAGE("/demo/network.js", javascript, demo_network_js),
};

size_t page_count(void) { return sizeof pages / sizeof pages[0]; }

const struct page *page_at(size_t index) { return &pages[index]; }

uint64_t page_hash(const uint8_t *bytes, size_t count) {
    uint64_t hash = 0xcbf29ce484222325;
    for (size_t index = 0; index < count; index++) hash = (hash ^ bytes[index]) * 0x100000001b3;
    return hash;
}

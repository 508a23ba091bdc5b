/// Everything that can be set about a server; see the table in README.md.
///
/// Each value has the default that is documented at it. A value out of its range is refused when
/// it is read from options or environment (``ConfigurationFailure``); set in code, it is clamped
/// where a sentence says so.
public struct Configuration: Sendable, Equatable {
    // Each property is the one declaration of its setting: name of the option, default, permitted
    // values and help. The option, the environment variable, `--help` and README's table follow
    // from it (ADR-0021). The order here is the order there.

    /// Address or host name to listen on. Default `127.0.0.1`; `::` is every address of both IP
    /// versions.
    public var host: String = Setting.text(
        "host", "address", default: "127.0.0.1", "address to listen on")

    /// TCP port; 0 lets the system choose, and the start line has the number. Default 8080.
    public var port: UInt16 = Setting.number(
        "port", default: 8_080, 0...65_535, "TCP port; 0 lets the system choose")

    /// Path of a Unix socket to listen on instead of TCP. Default none.
    public var unixPath: String? = Setting.optionalText(
        "unix", "path", "listen on a Unix socket instead")

    /// Event loops, at least 1. Default: half as many as there are processors. The other half is for
    /// the kernel's side of the connections, effects and the journal; a loop more would take it away.
    public var loops: Int = Setting.number(
        "loops", default: max(1, ProcessorCount.available / 2), 1...256, "event loops",
        shownDefault: "half the processors")

    /// The event poller of the loops. Default the platform's best.
    public var poller: PollerChoice = Setting.choice(
        "poller", default: .platform, "event poller of the loops")

    /// Where records are stored. Default the file `reactor.sqlite` in the working directory.
    public var journal: JournalChoice = Setting.journal(
        "journal", default: .file(path: "reactor.sqlite"), "where records are stored")

    /// Bytes of a request's head, beyond which it is refused with 431. Default 16 384.
    public var headLimitBytes: Int = Setting.bytes(
        "head-limit", default: 16_384, 1_024...1_048_576, "bytes of a request head")

    /// Bytes of a request's body, beyond which it is refused with 413. Default 1 048 576.
    public var bodyLimitBytes: Int = Setting.bytes(
        "body-limit", default: 1_048_576, 2...1_073_741_824, "bytes of a request body")

    /// Bytes of memory that bodies which have arrived in part may take, of all connections together.
    /// A further one is refused with 503 and its connection closed. Default 256 MiB: some 128 bodies
    /// of the default limit at a time (memory grows by doubling), or thousands of small ones; at
    /// least twice ``bodyLimitBytes`` in any case.
    public var bodyBudgetBytes: Int = Setting.bytes(
        "body-budget", default: 268_435_456, 65_536...Int.max / 4,
        "bytes of all request bodies that are arriving")

    /// Actions in one batch, beyond which it is refused with 422. Default 1000.
    public var batchLimit: Int = Setting.number(
        "batch-limit", default: 1_000, 1...1_000_000, "actions in one batch")

    /// Bytes of a state's JSON, beyond which an action is refused with 422 and a mutation of an
    /// effect is dropped, with a record of a failure. Default 16 MiB: encoding as much for one
    /// reader occupies a loop for about 50 ms.
    public var stateLimitBytes: Int = Setting.bytes(
        "state-limit", default: 16_777_216, 1_024...Int.max, "bytes of a state as JSON")

    /// Open connections; further ones are refused, old ones never evicted. Default 65 536. If
    /// the process may have fewer descriptors (`RLIMIT_NOFILE`), the limit is that number less 64 and
    /// one for each loop. A warning is logged if that is below 1000 or below a limit that was set.
    public var connectionLimit: Int = Setting.number(
        "connection-limit", default: 65_536, 1...10_000_000, "open connections")

    /// Sessions in memory, shared out among the loops. Creating more is refused with 503. A session
    /// that comes back from the journal takes the place of one that is not in use, the least
    /// recently used first; while there is none, the request is refused with 503. Default 1 000 000.
    public var sessionLimit: Int = Setting.number(
        "session-limit", default: 1_000_000, 1...1_000_000_000, "sessions in memory")

    /// Records kept per session to resume from. Default 1000, at least 1.
    public var keptRecords: Int = Setting.number(
        "keep-records", default: 1_000, 1...100_000_000, "records kept per session to resume from")

    /// Bytes of history kept in memory per session: its events and mutations, or, of a Cycler, its
    /// states, each measured by its JSON. The newest is always kept. Default 1 MiB.
    public var keptBytes: Int = Setting.bytes(
        "keep-bytes", default: 1_048_576, 0...Int.max, "bytes of history kept per session")

    /// Records kept per session in the journal's file, beyond which the oldest go, up to a
    /// snapshot. Default 100 000, at least 1.
    public var historyRecords: Int = Setting.number(
        "history-records", default: 100_000, 1...1_000_000_000,
        "records kept per session in the journal's file")

    /// About how many bytes of records and snapshots are kept per session in the journal's file,
    /// beyond which, and an eighth more, the oldest go, up to a snapshot. One is taken for each
    /// eighth of it, and what follows the newest stays. Default 256 MiB, at least 64 KiB.
    public var historyBytes: Int = Setting.bytes(
        "history-bytes", default: 268_435_456, 65_536...Int.max / 4,
        "bytes kept per session in the journal's file")

    /// How long records are kept in the journal's file; older ones go, up to a snapshot.
    /// Default 7 days.
    public var historyAge: Duration = Setting.time(
        "history-age", default: .seconds(604_800), "how long the journal's file keeps records")

    /// How long a session may be unused before it leaves memory, where the journal keeps records;
    /// it comes back when it is asked for. Default 5 min.
    public var sessionIdle: Duration = Setting.time(
        "session-idle", default: .seconds(300), "unused time before a session leaves memory")

    /// Silence on a stream after which a heartbeat is written. Default 15 s.
    public var heartbeat: Duration = Setting.time(
        "heartbeat", default: .seconds(15), "silence after which a heartbeat is written")

    /// A stream's life, ± 20 %, after which it is closed cleanly to be resumed. Default 10 min.
    public var connectionAge: Duration = Setting.time(
        "connection-age", default: .seconds(600), "life of a stream, ±20 %")

    /// How long a reader may take no byte before it is closed. Default 30 s.
    public var stallTimeout: Duration = Setting.time(
        "stall-timeout", default: .seconds(30), "how long a reader may accept no byte")

    /// How long a connection may stay open between requests. Default 75 s.
    public var idleTimeout: Duration = Setting.time(
        "idle-timeout", default: .seconds(75), "how long a connection may be idle")

    /// How long a request may take to arrive, from its first byte; then 408. Default 30 s.
    public var requestTimeout: Duration = Setting.time(
        "request-timeout", default: .seconds(30), "how long a request may take to arrive")

    /// The reconnection time sent to EventSource, ± 25 %. Default 2 s.
    public var retry: Duration = Setting.time(
        "retry", default: .seconds(2), "reconnection time sent to EventSource, ±25 %")

    /// How long SIGTERM waits for requests in flight and streams to end. Default 10 s.
    public var grace: Duration = Setting.time(
        "grace", default: .seconds(10), "how long SIGTERM waits for requests in progress")

    /// `Access-Control-Allow-Origin` for browsers of other origins: `*` or one origin.
    /// Default none.
    public var allowedOrigin: String? = Setting.optionalText(
        "allow-origin", "origin", "browser origin that may call: * or one origin")

    /// Whether topics may be published to and sessions stubbed over HTTP, by anybody who can reach
    /// the server. Default off.
    public var administration: AdministrationChoice = Setting.choice(
        "admin", default: .off, "whether any client may publish to topics and stub sessions")

    /// The least severe line that is logged: `trace` to `critical`. Default `info`.
    public var logLevel: LogLevel = Setting.choice(
        "log-level", default: .info, "least severe line that is logged")

    /// The defaults.
    public init() {}
}

/// How a loop learns that a descriptor is ready.
public enum PollerChoice: String, Sendable, CaseIterable {
    /// The best one of the platform: epoll on Linux, Dispatch sources elsewhere.
    case platform
    /// One edge-triggered epoll instance per loop, under one Dispatch source. Linux only.
    case epoll
    /// A Dispatch source for each descriptor: portable, slower.
    case dispatch
}

/// Where records are stored.
public enum JournalChoice: Sendable, Equatable {
    /// They live as long as the process; for tests and throw-away sessions.
    case memory
    /// An SQLite file, created if it is not there: a 2xx is flushed to disk. One process at a
    /// time may use it.
    case file(path: String)
}

extension JournalChoice: CustomStringConvertible {
    /// `memory` or `file:<path>`, as `--journal` takes it.
    public var description: String {
        switch self {
        case .memory: "memory"
        case .file(let path): "file:\(path)"
        }
    }

    /// Nil if it is neither.
    init?(_ text: String) {
        if text == "memory" {
            self = .memory
        } else if text.hasPrefix("file:"), text.utf8.count > 5 {
            self = .file(path: String(text.dropFirst(5)))
        } else {
            return nil
        }
    }
}

/// Whether requests for administrators are permitted.
public enum AdministrationChoice: String, Sendable, CaseIterable {
    /// Such a request is answered with 403.
    case off
    /// Anybody who can reach the server is an administrator.
    case on
}

/// How much is logged; the words of swift-log.
public enum LogLevel: String, Sendable, CaseIterable {
    /// Everything.
    case trace
    /// Each request and each stream, at its end.
    case debug
    /// Start, stop and refused requests.
    case info
    /// Unusual, but in order.
    case notice
    /// Something that a person should look at.
    case warning
    /// Something failed.
    case error
    /// The service cannot continue.
    case critical
}

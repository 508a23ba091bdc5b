/// Everything that can be set about a server; see the table in README.md.
///
/// Each value has the default that is documented at it. A value out of its range is refused when
/// it is read from options or environment (``ConfigurationFailure``); set in code, it is clamped
/// where a sentence says so.
public struct Configuration: Sendable, Equatable {
    /// Address or host name to listen on. Default `127.0.0.1`; `::` is every address of both IP
    /// versions.
    public var host = "127.0.0.1"
    /// TCP port; 0 lets the system choose, the start line tells which. Default 8080.
    public var port: UInt16 = 8080
    /// Path of a Unix socket to listen on instead of TCP. Default none.
    public var unixPath: String?
    /// Event loops, at least 1. Default: half as many as there are processors. The other half is for
    /// the kernel's side of the connections, effects and the journal; a loop more would take it away.
    public var loops = max(1, ProcessorCount.available / 2)
    /// How a loop asks the kernel: default the platform's best.
    public var poller = PollerChoice.platform
    /// What holds the records. Default the file `reactor.sqlite` in the working directory.
    public var journal = JournalChoice.file(path: "reactor.sqlite")

    /// Bytes of a request's head, beyond which it is refused with 431. Default 16 384.
    public var headLimitBytes = 16_384
    /// Bytes of a request's body, beyond which it is refused with 413. Default 1 048 576.
    public var bodyLimitBytes = 1_048_576
    /// Bytes of memory that bodies which have arrived in part may take, of all connections together.
    /// A further one is refused with 503 and its connection closed. Default 256 MiB: some 128 bodies
    /// of the default limit at a time (memory grows by doubling), or thousands of small ones; at
    /// least twice ``bodyLimitBytes`` in any case.
    public var bodyBudgetBytes = 268_435_456
    /// Actions in one batch, beyond which it is refused with 422. Default 1000.
    public var batchLimit = 1_000
    /// Bytes of a state's JSON, beyond which an action is refused with 422 and a mutation of an
    /// effect is dropped, with a record of a failure. Default 16 MiB: to encode as much, for one who
    /// reads it, occupies a loop for some 50 ms, in which nobody else is served there.
    public var stateLimitBytes = 16_777_216
    /// Open connections; further ones are refused, old ones never evicted. Default 65 536. Where
    /// the process may have fewer descriptors (`RLIMIT_NOFILE`), as many as these without 64 and
    /// one for each loop; a warning says so, unless there are a thousand and nobody asked for more.
    public var connectionLimit = 65_536
    /// Sessions in memory, shared out among the loops. Creating more is refused with 503. A session
    /// that comes back from the journal takes the place of one that is not in use, the least
    /// recently used first; while there is none, the request is refused with 503. Default 1 000 000.
    public var sessionLimit = 1_000_000
    /// Records kept per session to resume from. Default 1000, at least 1.
    public var keptRecords = 1_000
    /// Bytes of history kept in memory per session: its events and mutations, or, of a Cycler, its
    /// states, each measured by its JSON. The newest is kept in any case. Default 1 MiB.
    public var keptBytes = 1_048_576

    /// Records kept per session in the journal's file, beyond which the oldest go, up to a
    /// snapshot. Default 100 000, at least 1.
    public var historyRecords = 100_000
    /// About how many bytes of records and snapshots are kept per session in the journal's file,
    /// beyond which, and an eighth more, the oldest go, up to a snapshot. One is taken for each
    /// eighth of it, and what follows the newest stays. Default 256 MiB, at least 64 KiB.
    public var historyBytes = 268_435_456
    /// How long records are kept in the journal's file; older ones go, up to a snapshot.
    /// Default 7 days.
    public var historyAge = Duration.seconds(604_800)
    /// How long a session may be unused before it leaves memory, where the journal keeps records;
    /// it comes back when it is asked for. Default 5 min.
    public var sessionIdle = Duration.seconds(300)
    /// Silence on a stream after which a heartbeat is written. Default 15 s.
    public var heartbeat = Duration.seconds(15)
    /// A stream's life, ± 20 %, after which it is closed cleanly to be resumed. Default 10 min.
    public var connectionAge = Duration.seconds(600)
    /// How long a reader may take no byte before it is closed. Default 30 s.
    public var stallTimeout = Duration.seconds(30)
    /// How long a connection may stay open between requests. Default 75 s.
    public var idleTimeout = Duration.seconds(75)
    /// How long a request may take to arrive, from its first byte; then 408. Default 30 s.
    public var requestTimeout = Duration.seconds(30)
    /// The reconnection time told to EventSource, ± 25 %. Default 2 s.
    public var retry = Duration.seconds(2)
    /// How long SIGTERM waits for requests in flight and streams to end. Default 10 s.
    public var grace = Duration.seconds(10)

    /// `Access-Control-Allow-Origin` for browsers of other origins: `*` or one origin.
    /// Default none.
    public var allowedOrigin: String?
    /// Whether topics may be published to and sessions stubbed over HTTP, by whoever reaches the
    /// server. Default off.
    public var administration = AdministrationChoice.off
    /// The least severe line that is logged: `trace` to `critical`. Default `info`.
    public var logLevel = LogLevel.info

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

/// What holds the records.
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

/// Whether there are administrators.
public enum AdministrationChoice: String, Sendable, CaseIterable {
    /// What is for administrators answers 403.
    case off
    /// Whoever reaches the server is one.
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
    /// Something a person should look at.
    case warning
    /// Something failed.
    case error
    /// The service can't go on.
    case critical
}

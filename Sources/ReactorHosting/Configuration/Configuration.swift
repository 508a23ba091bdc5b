// Why one file: each property is the only declaration of its setting.

package import Sockets

/// All settings of a server; see the page Settings.
///
/// Each value has the default that its comment states. A value from options or environment that is
/// out of range is refused (``ConfigurationFailure``); a value that is set in code is clamped where
/// the comment says so.
public struct Configuration: Sendable, Equatable {
    // A property declares its setting: the option's name, permitted values, default and help. The
    // option, the environment variable, `--help` and the page Settings are derived from it
    // (ADR-0021), in this order and in the sections of `SettingGroup`.

    /// Where records are stored. Default the file `reactor.sqlite` in the working directory.
    public var journal: JournalChoice = Setting.value(
        .first, "journal", .journal, default: .file(path: "reactor.sqlite"),
        "where records are stored",
        change: "when the file belongs elsewhere, or several servers share a database")

    /// The address or host name to listen on, or `unix:` and the path of a Unix socket. Default
    /// `127.0.0.1`; `::` is every address of both IP versions.
    public var host: String = Setting.value(
        .first, "host", .host, default: "127.0.0.1", "address to listen on, or unix:PATH",
        change: "when other machines, or a proxy at a Unix socket, reach the server")

    /// The TCP port; 0 lets the system choose, and the start line shows the number. Default 8080.
    public var port: UInt16 = Setting.value(
        .first, "port", .number(0...65_535), default: 8_080, "TCP port; 0 lets the system choose",
        change: "when another program has this port")

    /// The clients that may use the server. Default ``AuthenticationChoice/none``: every client
    /// that can reach it, so a server that other machines can reach requires ``allowsPublic``. For
    /// ``AuthenticationChoice/jwt`` the program needs the product `ReactorTokens`.
    public var authentication: AuthenticationChoice = Setting.value(
        .first, "auth", .choice, default: .none, "how clients prove who they are",
        change: "when not every client that reaches the server may do everything")

    /// A file of settings, which options and environment variables override. Default none. It is
    /// read by ``ReactorServer/main(hosting:authenticator:metrics:tracer:journals:beside:)`` only.
    public var configPath: String? = Setting.value(
        .first, "config", .optional(.text("file")), default: nil,
        "file of settings, which variables and options override",
        change: "when the settings are too many for a command line, or change while it runs")

    /// An address of its own for `/livez`, `/readyz`, `/metrics` and administration, which the
    /// clients' address does not serve then. It is served beside the event loops: it responds when
    /// all of them are blocked. The same rule as for ``host`` decides whether other machines may
    /// reach it. It has at most 64 connections; further ones are reset. Default none.
    public var operationsAddress: OperationsAddress? = Setting.value(
        .addresses, "ops-listen", .optional(.operationsAddress), default: nil,
        "a separate address for probes, metrics and administration",
        change: "when clients must not reach probes, metrics and administration")

    /// Whether a server without authentication may listen on an address that other machines can
    /// reach. Default false: such an address is refused at start.
    public var allowsPublic: Bool = Setting.value(
        .addresses, "allow-public", .flag, default: false,
        "let other machines reach a server without authentication",
        change: "when the network decides who can reach the server")

    /// The host names, apart from `localhost`, by which clients may address a server without
    /// authentication; `*` for every name. A request with another name in `Host` is refused with
    /// 421; an IP address is always accepted. Default none, at most 64. It prevents a web page from
    /// reaching the server through a name of its own that points here (DNS rebinding).
    public var allowedHosts: [String] = Setting.value(
        .addresses, "allow-host",
        .list("names", of: "host names without port, or *", HostName.parse), default: [],
        "host names of this server, apart from localhost",
        change: "when clients without tokens use a name of the server", reloads: true)

    /// The origins of web pages that may use the server in a browser (CORS): each such as
    /// `https://app.example`, or `*` for every page, without credentials. Default none, at most 64.
    public var allowedOrigins: [String] = Setting.value(
        .addresses, "allow-origin",
        .list("origins", of: "origins such as https://app.example, or *", WebOrigin.parse),
        default: [], "browser origins that may call: * or a list of origins",
        change: "when pages of other origins call the server", reloads: true)

    /// The addresses of proxies in front of the server: `10.0.0.7`, `10.0.0.0/8`, or `unix` for
    /// proxies that connect to a Unix socket. The client of a proxy's request is the one that
    /// `X-Forwarded-For` names. Default: none. At most 64.
    public var trustedProxies: [String] = Setting.value(
        .addresses, "trusted-proxies",
        .list("ranges", of: "IP addresses, ranges such as 10.0.0.0/8, or unix") {
            $0 == "unix" ? "unix" : AddressRange(String($0))?.description
        },
        default: [], "proxies that may name the client's address",
        change: "when a proxy is between the clients and the server")

    /// With `jwt`: the path of a file with secrets of HS256, one on each line, each at least 32
    /// bytes; all are valid. Default none.
    public var tokenSecretPath: String? = Setting.value(
        .tokens, "jwt-secret-file", .optional(.text("path")), default: nil,
        "file with secrets of HS256, one on each line, 32 bytes or more",
        change: "when the issuer of the tokens signs with a shared secret", reloads: true)

    /// With `jwt`: the path of a file with public keys for RS256, ES256 or EdDSA: a PEM file with
    /// one, or a JWKS file with up to 64. Default none.
    public var tokenKeyPath: String? = Setting.value(
        .tokens, "jwt-key-file", .optional(.text("path")), default: nil,
        "PEM or JWKS file with public keys: RSA, P-256 or Ed25519",
        change: "when the issuer of the tokens signs with a private key", reloads: true)

    /// With `jwt`: the required `iss` of tokens. Default none: any.
    public var tokenIssuer: String? = Setting.value(
        .tokens, "jwt-issuer", .optional(.text("text")), default: nil, "required iss of tokens",
        change: "when a key signs the tokens of several issuers", reloads: true)

    /// With `jwt`: the names of this server in `aud`, of which a token must contain one. Default
    /// none: a token with `aud` is refused. At most 64.
    public var tokenAudiences: [String] = Setting.value(
        .tokens, "jwt-audience", .list("names", of: "names") { $0.isEmpty ? nil : String($0) },
        default: [], "names of this server in aud of tokens",
        change: "when the tokens have an audience", reloads: true)

    /// With `jwt`: the claim that contains the grants. Default `reactor`.
    public var tokenGrantsClaim: String = Setting.value(
        .tokens, "jwt-claim", .text("name"), default: "reactor", "claim with the grants",
        change: "when the issuer wants another name, such as a URL", reloads: true)

    /// The maximum number of sessions that one client may own, if the server authenticates its
    /// clients; a further one is refused with 403. Default 0: no limit, because one token may be
    /// that of an application which creates the sessions of all its users.
    public var subjectSessionLimit: Int = Setting.value(
        .tokens, "subject-session-limit", .number(0...1_000_000_000), default: 0,
        "sessions that one client may own; 0 for no limit",
        change: "when each user has a token of their own")

    /// A separate address for the links of other nodes. It makes this server a node of a cluster:
    /// several servers with one journal in PostgreSQL, each of which accepts any request
    /// (ADR-0050). An address that other machines can reach requires a ``clusterSecretPath``. So
    /// does authentication by tokens. Default none: no other server uses the journal.
    public var link: LinkAddress? = Setting.value(
        .cluster, "link", .optional(.linkAddress), default: nil,
        "a separate address for other nodes", change: "when several servers share one database")

    /// The address at which other nodes reach ``link``. Default that of ``link``, which has to be
    /// one address then: neither `0.0.0.0` nor `::`. A server that is started again at the same
    /// address stays the home of the same sessions.
    public var linkAddress: LinkAddress? = Setting.value(
        .cluster, "link-address", .optional(.linkAddress), default: nil,
        "address at which other nodes reach that of --link, if it differs",
        change: "when other nodes reach this one by another address: a container, a NAT")

    /// The path of a file with the secret that all nodes of a cluster have, at least 32 bytes. The
    /// file may have up to four secrets, one on each line: a node presents the first and accepts
    /// all of them. Default none: then ``link`` is on a loopback address without a ``linkAddress``,
    /// ``authentication`` is ``AuthenticationChoice/none``, and the program has no authenticator of
    /// its own.
    public var clusterSecretPath: String? = Setting.value(
        .cluster, "cluster-secret-file", .optional(.text("path")), default: nil,
        "file with secrets of a cluster, one on each line, 32 bytes or more",
        change: "when nodes are on several machines, or clients have tokens")

    /// How long a node of a cluster accepts requests after SIGTERM, while `/readyz` fails and it
    /// passes its sessions to other nodes. Default 2 s; without other nodes there is no delay.
    public var drainDelay: Duration = Setting.value(
        .cluster, "drain-delay", .time, default: .seconds(2),
        "how long a node accepts requests after SIGTERM",
        change: "when the load balancer asks /readyz less often than this", reloads: true)

    /// The maximum size of a request's body in bytes; a larger one is refused with 413. Default 1
    /// 048 576.
    public var bodyLimitBytes: Int = Setting.value(
        .requests, "body-limit", .bytes(2...1_073_741_824), default: 1_048_576,
        "bytes of a request body", change: "when one action or one batch is larger", reloads: true)

    /// The maximum memory in bytes for incomplete bodies, of all connections together. A further
    /// body is refused with 503 and its connection closed. Default 256 MiB: about 128 bodies of the
    /// default limit at a time (memory grows by doubling), or thousands of small ones. Always at
    /// least twice ``bodyLimitBytes``. One client, as ``addressConnectionLimit`` counts it, gets at
    /// most a quarter, or twice ``bodyLimitBytes``.
    public var bodyBudgetBytes: Int = Setting.value(
        .requests, "body-budget", .bytes(65_536...Int.max / 4), default: 268_435_456,
        "bytes of all request bodies that are arriving",
        change: "when memory is scarce, or many large bodies arrive at a time", reloads: true)

    /// The maximum number of open connections; further ones are refused, old ones never evicted.
    /// Default 65 536. If the process may have fewer descriptors (`RLIMIT_NOFILE`), the limit is
    /// that number minus 64 and minus one for each loop, and with ``link`` minus a part for links,
    /// at most a quarter. A warning is logged if that is below 1000 or below a limit that was set.
    public var connectionLimit: Int = Setting.value(
        .requests, "connection-limit", .number(1...10_000_000), default: 65_536, "open connections",
        change: "when more clients connect, or memory is scarce", reloads: true)

    /// The maximum number of open connections of one client: an IPv4 address, or an IPv6 network of
    /// 64 bits. Further ones are reset. Default 4096: a browser opens six, and a sixteenth of all
    /// connections is enough for an office or a mobile network behind one address. Connections of
    /// this machine and of ``trustedProxies`` have no such limit.
    public var addressConnectionLimit: Int = Setting.value(
        .requests, "address-connection-limit", .number(1...10_000_000), default: 4_096,
        "open connections of one address", change: "when many clients share one address",
        reloads: true)

    /// The number of requests per second that one client may send on average. Bursts may have 100
    /// requests, or the requests of one second if those are more; further requests get 429. Default
    /// 0: no limit. The server does not need it, and the right number depends on the application.
    /// Probes do not count.
    public var requestRate: Int = Setting.value(
        .requests, "request-rate", .number(0...1_000_000), default: 0,
        "requests per second of one address; 0 for no limit",
        change: "when a client must not take the share of others", reloads: true)

    /// The maximum time between two requests of a connection. Default 75 s.
    public var idleTimeout: Duration = Setting.value(
        .requests, "idle-timeout", .time, default: .seconds(75),
        "how long a connection may be idle",
        change: "when a proxy in front keeps its connections longer than this", reloads: true)

    /// The maximum time for a request to arrive, from its first byte, and the time after which a
    /// reader that accepts no byte is disconnected. Then 408 or a reset. Default 30 s. A body that
    /// keeps 4096 bytes per second may take longer.
    public var stallTimeout: Duration = Setting.value(
        .requests, "stall-timeout", .time, default: .seconds(30),
        "how long a request may take to arrive, or a reader accept no byte",
        change: "when clients are on slow networks, or attackers hold many connections",
        reloads: true)

    /// The maximum size of a state's JSON in bytes. Beyond it an action is refused with 422, and a
    /// mutation of an effect is dropped and recorded as a failure. Default 16 MiB: encoding this
    /// much for one reader occupies a loop for about 50 ms.
    public var stateLimitBytes: Int = Setting.value(
        .sessions, "state-limit", .bytes(1_024...Int.max), default: 16_777_216,
        "bytes of a state as JSON", change: "when a state is larger, or memory is scarce",
        reloads: true)

    /// The maximum number of sessions in memory, divided among the loops. Creating more is refused
    /// with 503. A session that is loaded from the journal replaces the least recently used session
    /// that is not in use; if there is none, the request is refused with 503. Default 1 000 000.
    public var sessionLimit: Int = Setting.value(
        .sessions, "session-limit", .number(1...1_000_000_000), default: 1_000_000,
        "sessions in memory",
        change: "when memory is scarce, or more sessions are in use at a time", reloads: true)

    /// The time after which an unused session is evicted from memory, if the journal keeps records;
    /// the next request loads it again. Default 5 min.
    public var sessionIdle: Duration = Setting.value(
        .sessions, "session-idle", .time, default: .seconds(300),
        "unused time before a session leaves memory",
        change: "when memory is scarce, or loading a session is slow", reloads: true)

    /// How long a session is kept that nobody uses, if its reactor sets no time (`expiresAfter`).
    /// Then it ends, at most a sixteenth of this time and a few minutes late. At least a minute;
    /// if code sets less, a minute applies. Default: nil; sessions never expire.
    public var sessionExpiry: Duration? = Setting.value(
        .sessions, "session-expiry", .optional(.minutes), default: nil,
        "unused time before a session ends, unless its reactor sets one",
        change: "when clients leave sessions without ending them")

    /// The silence on a stream after which a heartbeat is sent at the latest; each stream has a
    /// time of its own, between four fifths of it and all of it. Default 15 s.
    public var heartbeat: Duration = Setting.value(
        .sessions, "heartbeat", .time, default: .seconds(15),
        "longest silence of a stream before a heartbeat is sent",
        change: "when a proxy closes connections that are silent for less time", reloads: true)

    /// The lifetime of a stream, ± 20 %; it is then closed cleanly, to be resumed. Default 10 min.
    public var connectionAge: Duration = Setting.value(
        .sessions, "connection-age", .time, default: .seconds(600),
        "how long a stream stays open, ±20 %",
        change: "when a proxy ends streams earlier, or new nodes should get readers sooner",
        reloads: true)

    /// The reconnection time sent to EventSource, ± 25 %. Default 2 s.
    public var retry: Duration = Setting.value(
        .sessions, "retry", .time, default: .seconds(2),
        "reconnection time sent to EventSource, ±25 %",
        change: "when too many readers return at once after a restart", reloads: true)

    /// Whether timers of sleeping sessions rest until their session is used, and so do effects and
    /// sources that ended with their process or with another node. Default no: such sessions are
    /// woken when the server starts, a node has ended, or a timer is due.
    public var wakesOnDemand: Bool = Setting.value(
        .sessions, "wake-on-demand", .flag, default: false,
        "effects of an ended process, and timers, wait until their session is used",
        change: "when waking the sessions that have effects delays a start")

    /// The bytes of history kept in memory per session: its events and mutations or, for a Cycler,
    /// its states, each measured as JSON. The newest entry is always kept. Default 1 MiB.
    public var keptBytes: Int = Setting.value(
        .history, "keep-bytes", .bytes(0...Int.max), default: 1_048_576,
        "bytes of history kept per session",
        change: "when memory is scarce, or readers often resume from further back", reloads: true)

    /// The approximate bytes of records and snapshots kept per session in the journal's file.
    /// Beyond it and an eighth more, the oldest are removed, up to a snapshot. A snapshot is made
    /// for each eighth of it; the records after the newest one stay. Default 256 MiB, at least 64
    /// KiB.
    public var historyBytes: Int = Setting.value(
        .history, "history-bytes", .bytes(65_536...Int.max / 4), default: 268_435_456,
        "bytes kept per session in the journal's file",
        change: "when disk space is scarce, or sessions need a longer history")

    /// The time for which records are kept in the journal's file; older ones are removed, up to a
    /// snapshot. Default 7 days.
    public var historyAge: Duration = Setting.value(
        .history, "history-age", .time, default: .seconds(604_800),
        "how long the journal's file keeps records",
        change: "when readers or auditors need more than a week, or may have less")

    /// The maximum time after SIGTERM, and after ``drainDelay``, for requests in flight and streams
    /// to end, and in a cluster for effects. Default 10 s.
    public var grace: Duration = Setting.value(
        .operation, "grace", .time, default: .seconds(10),
        "how long SIGTERM waits for requests in progress",
        change: "when requests or effects need longer to end than this", reloads: true)

    /// The least severe line that is logged: `trace` to `critical`. Default `info`.
    public var logLevel: LogLevel = Setting.value(
        .operation, "log-level", .choice, default: .info, "least severe line that is logged",
        change: "when you look for a fault, or the log is too long", reloads: true)

    /// The form of the log's lines. Default logfmt. It applies to the whole process, so only
    /// ``ReactorServer/main(hosting:authenticator:metrics:tracer:journals:beside:)`` uses it: a
    /// program that calls ``ReactorServer/run(started:)`` chooses the handler of its logs itself.
    public var logFormat: LogFormat = Setting.value(
        .operation, "log-format", .choice, default: .logfmt, "form of the log's lines",
        change: "when a program reads the log as JSON")

    /// Whether each response has a line in the log, at its end and at any
    /// ``logLevel``. Default off.
    public var accessLog: AccessLogChoice = Setting.value(
        .operation, "access-log", .choice, default: .off,
        "whether each response has a line in the log",
        change: "when you need a line for each response", reloads: true)

    /// Whether topics can be published and sessions stubbed over HTTP. With tokens, a client also
    /// needs the verb `admin`; without them, any client that can reach the server may do it.
    /// Default off.
    public var administration: AdministrationChoice = Setting.value(
        .operation, "admin", .choice, default: .off,
        "whether topics can be published and sessions stubbed",
        change: "when operators publish to topics or stub sessions")

    /// Who gets the console, a page that shows sessions, at `/console`. Default
    /// ``ConsoleChoice/loopback``. The console has no rights of its own: it makes the requests of
    /// any client, with the token that its user types.
    public var console: ConsoleChoice = Setting.value(
        .operation, "console", .choice, default: .loopback, "who gets the page /console",
        change: "when others than this machine may use the console, or nobody")

    /// The number of event loops, at least 1. Default: half the number of processors. The other
    /// half is for the kernel's work on the connections, effects and the journal; an additional
    /// loop would compete with them.
    public var loops: Int = Setting.value(
        .operation, "loops", .number(1...256), default: max(1, ProcessorCount.available / 2),
        "event loops", change: "when the container may use fewer processors than the machine has",
        shownDefault: "half the processors")

    /// Constant: with `jwt`, the permitted difference between the issuer's clock and this one, 30
    /// seconds. Clocks that are set by NTP differ by less than one second. RFC 7519 §4.1.4 permits
    /// "no more than a few minutes", but an expired token stays valid for each second of it.
    package var tokenLeewaySeconds: Int64 = Setting.value(
        .constants, "jwt-leeway", .number(0...300, placeholder: "seconds"), default: 30,
        "seconds by which the issuer's clock may differ")

    /// Constant: the event poller of the loops, the platform's best. The other one exists for
    /// platforms without epoll; tests run both on Linux.
    package var poller: PollerKind = Setting.value(
        .constants, "poller", .choice, default: .platformDefault, "event poller of the loops")

    /// Constant: the maximum size of a request's head, 16 KiB; a larger one is refused with 431. A
    /// token and cookies fit into it, and it is twice the size that nginx and Apache permit for one
    /// line.
    package var headLimitBytes: Int = Setting.value(
        .constants, "head-limit", .bytes(1_024...1_048_576), default: 16_384,
        "bytes of a request head")

    /// Constant: the maximum memory in bytes for what exists only because somebody asked for it:
    /// responses and snapshots of more than 64 KiB until the connection has accepted them, states
    /// that are rebuilt from the journal, forks until they are committed, and states that streams
    /// keep. Beyond it a request is refused with 503, and a stream ends with `event: problem`. 48
    /// MiB, or three times ``stateLimitBytes`` if that is more: the operator chooses the size of
    /// states, and this limit follows. One client, as ``addressConnectionLimit`` counts it, or one
    /// subject gets at most a quarter, or twice ``stateLimitBytes``.
    package var answerBudgetBytes: Int = Setting.value(
        .constants, "answer-budget", .bytes(65_536...Int.max / 4), default: 50_331_648,
        "bytes of large responses, and of states made for clients")

    /// Constant: the maximum number of actions in one batch, 1000; a larger batch is refused
    /// with 422. A batch of small actions occupies a loop for a few milliseconds, and
    /// ``bodyLimitBytes`` bounds a batch of large ones. A client with more actions sends
    /// several batches.
    package var batchLimit: Int = Setting.value(
        .constants, "batch-limit", .number(1...1_000_000), default: 1_000, "actions in one batch")

    /// Constant: the number of requests that a client may send at once, after a pause, if
    /// ``requestRate`` is set. 100 is more than a page sends when it loads. If ``requestRate`` is
    /// higher, it is the number instead.
    package var requestBurst: Int = Setting.value(
        .constants, "request-burst", .number(1...1_000_000), default: 100,
        "requests of one address at once, above its rate")

    /// Constant: the maximum number of event streams of one session. A further one is refused with
    /// `event: problem`, and its client retries after about 10 s. 32 768 is half of all
    /// connections: a commit is written to each of them, which occupies the session's loop for
    /// about 50 ms at the limit.
    package var subscriberLimit: Int = Setting.value(
        .constants, "subscriber-limit", .number(1...10_000_000), default: 32_768,
        "event streams of one session")

    /// Constant: from this number of event streams of one session and selection on, other loops
    /// serve some of them, 256. An event for fewer streams occupies a loop for a millisecond or
    /// two. A number above ``subscriberLimit`` means never.
    package var spreadFrom: Int = Setting.value(
        .constants, "spread-from", .number(1...10_000_000), default: 256,
        "streams of one session that loops share")

    /// Constant: the maximum number of sessions of one event stream (`GET /v1/events`). A request
    /// with more is refused with 400. 100, because each event carries the positions of all of them,
    /// 1.4 KB at the limit.
    package var streamSessions: Int = Setting.value(
        .constants, "stream-sessions", .number(1...100), default: 100,
        "sessions of one event stream")

    /// Constant: the number of records kept in memory per session to resume from, 1000. What
    /// matters is their memory, which ``keptBytes`` bounds. A reader that is further back reads the
    /// journal.
    package var keptRecords: Int = Setting.value(
        .constants, "keep-records", .number(1...100_000_000), default: 1_000,
        "records kept per session to resume from")

    /// Constant: the number of records kept per session in the journal's file, 100 000; beyond it
    /// the oldest are removed, up to a snapshot. What matters is disk space and age, which
    /// ``historyBytes`` and ``historyAge`` bound. This constant bounds the rows of a session with
    /// tiny records.
    package var historyRecords: Int = Setting.value(
        .constants, "history-records", .number(1...1_000_000_000), default: 100_000,
        "records kept per session in the journal's file")

    /// Constant: a call of a reactor's code that occupies its event loop for this time or longer is
    /// logged and counted, 100 ms. Meanwhile, all sessions and connections of the loop wait, and
    /// people notice a tenth of a second. It is measured to a tick of the kernel's coarse clock, 1
    /// to 10 ms.
    package var slowTurn: Duration = Setting.value(
        .constants, "slow-turn", .time, default: .milliseconds(100),
        "time of a reactor's call that is logged as slow")

    /// Constant: an event loop is stuck when one pass takes this time or longer, 10 s: `/readyz`
    /// responds with 503, and the log names the reactor, the session and the action. Ten times what
    /// a healthy loop needs for its longest work, and less than what clients wait for a response.
    package var stuckLimit: Duration = Setting.value(
        .constants, "stuck-limit", .time, default: .seconds(10),
        "time of a loop's pass from which it is stuck")

    /// Constant: a body that keeps this number of bytes per second may take longer than
    /// ``stallTimeout``, 4096. At the end of each such time, the server counts the bytes of the
    /// body that have arrived in it, and refuses a slower body with 408. 0: no request may take
    /// longer. 4096 is the rate of the slowest mobile networks (GPRS), at which a body of 1 MiB
    /// takes 4 min.
    package var bodyRate: Int = Setting.value(
        .constants, "body-rate", .bytes(0...1_073_741_824), default: 4_096,
        "bytes per second at which a body may exceed the request timeout")

    /// The defaults.
    public init() {}
}

/// The storage of records.
public enum JournalChoice: Sendable, Equatable {
    /// Records live as long as the process; for tests and temporary sessions.
    case memory
    /// An SQLite file, created if it does not exist: a 2xx response is flushed to disk. Only one
    /// process at a time can use it.
    case file(path: String)
    /// A PostgreSQL database: `postgres://user@host/database?schema=reactor`. The program needs the
    /// product `ReactorPostgres` and `journals: [.postgres]`. A 2xx response is as durable as a
    /// commit of the database. Several processes can use a schema if they have links
    /// (``Configuration/link``).
    case postgres(address: String)
}

extension JournalChoice: CustomStringConvertible {
    /// `memory`, `file:<path>` or an address, without its password.
    public var description: String { SettingValue.masked(text) }

    /// The value of `--journal`.
    var text: String {
        switch self {
        case .memory: "memory"
        case .file(let path): "file:\(path)"
        case .postgres(let address): address
        }
    }

    /// Nil for any other text.
    init?(_ text: String) {
        if text == "memory" {
            self = .memory
        } else if text.hasPrefix("file:"), text.utf8.count > 5 {
            self = .file(path: String(text.dropFirst(5)))
        } else if JournalEngine.isAddress(text) {
            self = .postgres(address: text)
        } else {
            return nil
        }
    }
}

/// The proof of identity that clients give.
public enum AuthenticationChoice: String, Sendable, CaseIterable {
    /// None: every client that can reach the server may do everything.
    case none
    /// A JSON Web Token in each request (`ReactorTokens`).
    case jwt
}

/// Whether requests for administrators are permitted.
public enum AdministrationChoice: String, Sendable, CaseIterable {
    /// Such a request gets a 403 response.
    case off
    /// It is served. With tokens, it needs the verb `admin`.
    case on
}

/// Who gets the console.
public enum ConsoleChoice: String, Sendable, CaseIterable {
    /// Clients on this machine, if the server needs no tokens and listens on a loopback address or
    /// a Unix socket. The request's `Host` must be `localhost`, `127.0.0.1` or `[::1]`, and the
    /// request must have no `Forwarded`, `X-Forwarded-…` or `Via`.
    case loopback
    /// Everybody who can reach the server.
    case on
    /// Everybody who can reach the server; it offers nothing that changes a session. That binds no
    /// other client; grants do.
    case readOnly = "read-only"
    /// Nobody: the paths do not exist.
    case off
}

/// The least severe level that is logged, in the terms of swift-log.
public enum LogLevel: String, Sendable, CaseIterable {
    /// Everything.
    case trace
    /// Each request and each stream, at its end.
    case debug
    /// Start, stop and refused requests.
    case info
    /// Unusual, but not a problem.
    case notice
    /// A condition that an operator should examine.
    case warning
    /// Something failed.
    case error
    /// The service cannot continue.
    case critical
}

/// The form of the log's lines, each of which is one event.
public enum LogFormat: String, Sendable, CaseIterable {
    /// `key=value` pairs, quoted where necessary: readable by people and programs.
    case logfmt
    /// A JSON object.
    case json
}

/// Whether each response has a line in the log.
public enum AccessLogChoice: String, Sendable, CaseIterable {
    /// Only the lines that ``LogLevel`` describes.
    case off
    /// A line for each response, from the logger `reactor-server.access`.
    case on
}

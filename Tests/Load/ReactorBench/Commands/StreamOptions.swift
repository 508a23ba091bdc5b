import ArgumentParser

/// The streams, the number of subscribers, and the way in which events are recognised.
struct StreamOptions: ParsableArguments {
    @Option(help: "Subscribers in all; subscriber i reads stream i mod --streams.")
    var subscribers = 1000

    @Option(help: "Streams (sessions).")
    var streams = 1

    @Option(
        help: """
            Sessions of one subscriber's stream: subscriber i reads those from i × this number on, \
            mod --streams; {sessions} in --subscribe-path names them.
            """)
    var sessionsPerStream = 1

    @Option(help: "Where to subscribe; {session} {stream} {index} {i} {run} are filled in.")
    var subscribePath: String?

    @Option(
        name: .customLong("subscribe-url"), parsing: .singleValue,
        help: """
            A server where streams are opened, http://host:port: subscriber i uses the one at \
            i mod their number. Repeatable; only --url unless given.
            """)
    var subscribeURLs: [String] = []

    @Option(help: "How event ids are built: consecutive, rising, nchan, number, none.")
    var ids: IDScheme?

    @Flag(
        inversion: .prefixedNo,
        help: "Whether a stream counts as open with its first body bytes, not with its head.")
    var firstBytes = true

    @Option(help: "Connections that may wait for their first bytes at a time.")
    var inFlight = 256

    func validate() throws {
        try Bounds.check("--subscribers", subscribers, 1...1_000_000)
        try Bounds.check("--streams", streams, 1...1_000_000)
        try Bounds.check("--in-flight", inFlight, 1...65_536)
        for url in subscribeURLs where Endpoint(url)?.prefix != "" {
            throw ValidationError("--subscribe-url \(url): expected http://host:port")
        }
        // A stream has each of its sessions once.
        try Bounds.check("--sessions-per-stream", sessionsPerStream, 1...min(100, streams))
    }
}

import ArgumentParser

/// The streams, the number of subscribers, and the way in which events are recognised.
struct StreamOptions: ParsableArguments {
    @Option(help: "Subscribers in all; subscriber i reads stream i mod --streams.")
    var subscribers = 1000

    @Option(help: "Streams (sessions).")
    var streams = 1

    @Option(help: "Where to subscribe; {session} {stream} {index} {i} {run} are filled in.")
    var subscribePath: String?

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
    }
}

internal import Feeds
internal import Sessions
internal import Storage
internal import Wire

/// The parameters of a stream's request, from path, query and fields (contract §3.2).
struct StreamQuery {
    let items: QueryItems
    let selection: Selection
    let start: SubscriptionRequest.Start
    let heartbeatIsEvent: Bool
    let presence: ReaderPresence?

    init(
        _ endpoint: any StreamEndpoint.Type, _ request: Request, _ reactor: Registration
    ) throws(Problem) {
        items = try request.queryItems()
        selection = try endpoint.selection(
            items, pulses: try Self.pulses(items, reactor, request.access?.grants))
        start = try Self.start(items, request.head)
        heartbeatIsEvent = try items.word("ping", of: ["events", "comments"]) == "events"
        presence = try ReaderPresence(items, for: request.access)
        guard let presence, presence.getsEvents, reactor.events.hasOwnPresence else { return }
        throw Problem(
            400, "presence_unavailable",
            "the reactor \(reactor.name) has its own event presence; omit presence=on")
    }

    /// All pulses that the client may see, or those in `?pulse=`, which it may see
    /// (``AccessGate``).
    private static func pulses(
        _ items: QueryItems, _ reactor: Registration, _ grants: Grants?
    ) throws(Problem) -> UInt64 {
        let names = items.values("pulse")
        let chosen = reactor.pulses(named: names, for: grants)
        for name in names where chosen.known.firstIndex(exactly: name) == nil {
            throw Problem(404, "unknown_pulse", "the reactor \(reactor.name) has no pulse \(name)")
        }
        return chosen.bits
    }

    /// The header has precedence over `after`, and both over `from`.
    static func start(
        _ items: QueryItems, _ head: RequestHead
    ) throws(Problem) -> SubscriptionRequest.Start {
        let from = try items.word("from", of: ["now", "start"])
        if let text = head.text(of: .lastEventID), !text.isEmpty { return .after(text) }
        if let text = items.first("after") { return .after(text) }
        return start(from: from)
    }

    static func start(from: String?) -> SubscriptionRequest.Start {
        from == "now" ? .now : from == "start" ? .start : .snapshot
    }
}

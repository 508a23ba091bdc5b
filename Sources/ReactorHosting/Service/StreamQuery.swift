internal import JSONCoding
internal import Sessions
internal import Wire

/// What a stream's request asks for, from path, query and header (contract §3.2).
struct StreamQuery {
    var selection: Selection
    var start = SubscriptionRequest.Start.snapshot
    var heartbeatIsEvent = false
    /// Of a page of the action log.
    var limit = 100

    init(
        _ operation: Operation, _ items: QueryItems, _ head: RequestHead, _ reactor: Registration
    ) throws(Problem) {
        selection = try Self.selection(operation, items, reactor)
        start = try Self.start(items, head)
        if operation == .readLog { limit = try items.pageLimit() }
        if let ping = items.first("ping") {
            guard ping == "events" || ping == "comments" else {
                throw Problem(400, "bad_ping", "ping is \(ping); send events or comments")
            }
            heartbeatIsEvent = ping == "events"
        }
    }

    private static func selection(
        _ operation: Operation, _ items: QueryItems, _ reactor: Registration
    ) throws(Problem) -> Selection {
        let pulses = try pulses(items, reactor)
        switch operation {
        case .readLog: return .log
        case .streamActivities: return Selection(activities: true)
        case .streamStates: return Selection(states: try states(items))
        case .streamEvents:
            let only = items.values("only").flatMap {
                $0.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
            }
            for word in only where !["pulses", "activities", "states"].contains(word) {
                throw Problem(
                    400, "bad_only", "only is \(word); send pulses, activities or states")
            }
            // Also where states are not wanted: what has not its form is told.
            let chosen = try states(items)
            let wants = { (word: String) in only.isEmpty || only.contains(word) }
            return Selection(
                pulses: wants("pulses") ? pulses : 0, activities: wants("activities"),
                states: wants("states") ? chosen : .none)
        default: return Selection(pulses: pulses)
        }
    }

    /// All pulses, or those of `?pulse=`.
    private static func pulses(
        _ items: QueryItems, _ reactor: Registration
    ) throws(Problem) -> UInt64 {
        let names = items.values("pulse")
        guard !names.isEmpty else {
            return reactor.pulses.count == 64 ? .max : (1 << UInt64(reactor.pulses.count)) - 1
        }
        var chosen: UInt64 = 0
        for name in names {
            guard let index = reactor.pulses.firstIndex(of: name) else {
                throw Problem(
                    404, "unknown_pulse", "the reactor \(reactor.name) has no pulse \(name)")
            }
            chosen |= 1 << UInt64(index)
        }
        return chosen
    }

    private static func states(_ items: QueryItems) throws(Problem) -> Selection.States {
        guard let text = items.first("select") else { return .whole }
        do {
            return .part(try JSONPointer(text))
        } catch {
            throw Problem(
                400, "bad_select", "select is \(text); send a JSON pointer such as /countText")
        }
    }

    /// The header wins over `after`, and both over `from`.
    private static func start(
        _ items: QueryItems, _ head: RequestHead
    ) throws(Problem) -> SubscriptionRequest.Start {
        let from = items.first("from")
        if let from, from != "now", from != "start" {
            throw Problem(400, "bad_from", "from is \(from); send now or start")
        }
        if let text = head.text(of: .lastEventID), !text.isEmpty { return .after(text) }
        if let text = items.first("after") { return .after(text) }
        return from == "now" ? .now : from == "start" ? .start : .snapshot
    }
}

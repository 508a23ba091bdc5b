import FuzzSupport
import Wire
import WireFeeds

@main enum EventsTarget: FuzzTarget {}

/// The decoder of event streams: no split changes the events, the last id or the failure; events
/// that are encoded again are decoded as the same.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzEvents(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    var input = unsafe FuzzInput(start, count)
    for limit in [40, 1_000_000] {
        let whole = decode(input.bytes, lastEventID: "g.1", limit: limit)
        for cuts in input.cuts() {
            let cut = decode(input.bytes, cutAt: cuts, lastEventID: "g.1", limit: limit)
            require(cut == whole, "another result when it is cut at \(cuts): \(cut) and \(whole)")
        }
        require(whole.events.allSatisfy { $0.data.utf8.count <= 3 * limit }, "more than the limit")
        checkRoundTrip(of: whole.events)
    }
    return 0
}

private func checkRoundTrip(of events: [ServerSentEvent]) {
    // A name with a NUL can be received, but is none that this service sends.
    let events = events.filter { !$0.name.utf8.contains(0) }
    var bytes: [UInt8] = []
    for event in events {
        EventEncoder.appendEvent(
            name: event.name, id: event.lastEventID, cause: event.cause, data: event.data,
            to: &bytes)
    }
    require(decode(bytes).events == events, "an event changes when it is encoded")
}

import Feeds
import JSONCoding
import Sessions
import Testing

/// A client that is disconnected and reconnects, like EventSource.
struct Reader {
    let selection: Selection
    /// Its connections, in order, and the id from which each asked to resume.
    private(set) var connections: [(token: UInt64, after: String?)] = []

    init(_ selection: Selection) {
        self.selection = selection
    }

    mutating func connect(
        _ rig: Rig, to session: Session, capacity: Int?, fromNow: Bool, for token: UInt64? = nil
    ) {
        connect(
            rig, to: session, capacity: capacity, from: fromNow ? .now : .snapshot, for: token)
    }

    /// - Parameters:
    ///   - start: where it begins if it has no id yet.
    ///   - token: of the request; a new one by default.
    mutating func connect(
        _ rig: Rig, to session: Session, capacity: Int?, from start: SubscriptionRequest.Start,
        for token: UInt64? = nil
    ) {
        let last = lastEventID(rig)
        // A patch needs the state that the reader holds.
        var start = start
        if selection.asPatches { start = .snapshot }
        // It reconnects by HTTP/1.1 and HTTP/1.0 in turn.
        var selection = selection
        selection.isChunked = connections.count.isMultiple(of: 2)
        let token = token ?? rig.nextToken()
        // Before the request, which may be answered at once.
        connections.append((token, last))
        rig.subscribe(
            session, selection, last.map { .after($0) } ?? start, capacity: capacity, for: token)
    }

    /// A connection that is a part of another one.
    mutating func add(connection token: UInt64, after: String?) {
        connections.append((token, after))
    }

    func disconnect(_ rig: Rig) {
        guard let token = connections.last?.token else { return }
        rig.output.disconnect(token)
    }

    /// Of the newest connection that received one.
    func lastEventID(_ rig: Rig) -> String? {
        for connection in connections.reversed() {
            let id = rig.transcript(connection.token).lastEventID
            if !id.isEmpty { return id }
        }
        return nil
    }

    /// Checks that each event is followed by the next one, or by a reset with a correct snapshot,
    /// and that nothing is missing at the end.
    ///
    /// - Parameters:
    ///   - mayReset: false where the journal has everything.
    ///   - isOver: the session has ended, and with it the streams.
    func check(
        _ rig: Rig, against truth: Truth, _ comment: Comment, mayReset: Bool = true,
        isOver: Bool = false
    ) {
        let all = truth.events(selection)
        var place: Int?
        var state: JSONValue?
        for connection in connections {
            let bytes = rig.output.bytes(of: connection.token)
            // A reader that has an id and missed nothing gets no bytes.
            if bytes.isEmpty, connection.after == nil { continue }
            place = connection.after.flatMap { Self.place(after: $0, in: all) }
            if place == nil, let id = Self.primed(bytes) { place = Self.place(after: id, in: all) }
            for heard in rig.transcript(connection.token).events where heard.name != "presence" {
                if isOver, heard.name == "end" { continue }
                #expect(heard.name != "reset" || mayReset, comment)
                guard let heard = whole(heard, &state) else {
                    Issue.record("\(heard) cannot be applied; \(comment)")
                    return
                }
                if heard.name == "reset" || heard.name == "snapshot" {
                    place = Self.place(after: heard.id, in: all)
                    checkSnapshot(heard, truth, comment)
                } else {
                    // From the start: the first event determines the position.
                    if place == nil { place = all.firstIndex(of: heard) }
                    guard let index = place, index < all.count else {
                        Issue.record("\(heard) was never to be heard; \(comment)")
                        return
                    }
                    #expect(isSame(heard, all[index]), "\(heard), not \(all[index]); \(comment)")
                    place = index + 1
                }
            }
        }
        if !isOver { #expect(place == all.count, "everything is heard in the end; \(comment)") }
    }

    /// The event with the whole state instead of a patch; nil if the patch does not apply.
    ///
    /// - Parameter state: The state that the reader holds.
    private func whole(_ heard: Heard, _ state: inout JSONValue?) -> Heard? {
        guard selection.asPatches else { return heard }
        let data = try? JSON.decode(JSONValue.self, from: Array(heard.data.utf8))
        switch heard.name {
        case "snapshot": state = selection.wantsPulses ? data?["state"] : data
        case "state": state = data
        case "patch":
            var (whole, text) = (heard, [UInt8]())
            guard state != nil, let data, let patch = try? JSONPatch(data),
                (try? patch.apply(to: &state!)) != nil,
                (try? JSON.encode(state, into: &text)) != nil
            else { return nil }
            (whole.name, whole.data) = ("state", String(decoding: text, as: UTF8.self))
            return whole
        default: break
        }
        return heard
    }

    /// A patch may have added a member that another encoding has elsewhere.
    private func isSame(_ heard: Heard, _ other: Heard) -> Bool {
        guard selection.asPatches, heard.name == "state" else { return heard == other }
        return (heard.name, heard.id) == (other.name, other.id)
            && JSON.areSame(Array(heard.data.utf8), Array(other.data.utf8))
    }

    /// Checks that a snapshot has the state of its record.
    func checkSnapshot(_ heard: Heard, _ truth: Truth, _ comment: Comment) {
        guard heard.name == "snapshot", let position = Position(heard.id) else { return }
        guard let version = truth.version(at: position.number) else {
            Issue.record("\(heard) is of no record; \(comment)")
            return
        }
        let state = truth.states[Int(version)]
        switch (selection.pulses != 0, selection.states) {
        case (true, .none): #expect(heard.data == truth.pulses(at: version), comment)
        case (false, .whole): #expect(heard.data == state, comment)
        case (true, .whole):
            let pulses = truth.pulses(at: version)
            #expect(heard.data == "{\"pulses\":\(pulses),\"state\":\(state)}", comment)
        default: break
        }
    }

    /// The index of the first event after this position.
    static func place(after id: String, in events: [Heard]) -> Int? {
        guard let seen = Position(id) else { return nil }
        return events.firstIndex { event in
            guard let position = Position(event.id) else { return false }
            return (position.number, order(position)) > (seen.number, order(seen))
        } ?? events.count
    }

    private static func order(_ position: Position) -> Int {
        position.part == 0 ? .max : Int(position.part)
    }

    /// The id of a first block that has no other field.
    static func primed(_ bytes: [UInt8]) -> String? {
        let text = String(decoding: StreamBody(bytes).content, as: UTF8.self)
        guard text.hasPrefix("id: "), let end = text.firstRange(of: "\n\n") else { return nil }
        return String(text[..<end.lowerBound].dropFirst(4))
    }
}

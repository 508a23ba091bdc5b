internal import Storage

/// The presence of one session: the names of its readers, on the loop of the session.
///
/// Design (ADR-0090): a name is present while a stream has it, and for ``graceMilliseconds`` after
/// the last one closes, so that a page reload does not flicker. The set lives as long as the
/// session's feed, and is not in the journal.
///
/// Bounds: each stream costs O(1). ``nameLimit`` names; a further name counts as one of the others.
/// At most one event is framed in ``PresenceSchedule/restMilliseconds``, plus the first event of
/// each reader.
package final class SessionPresence {
    private struct Entry {
        /// 0: the reader has left, and its grace has not ended.
        var streams = 0
        /// The end of the grace, while there is no stream.
        var until: Int64 = 0
        /// Whether the name has its grace because a link to another node has ended.
        var isElsewhere = false
    }

    enum Phase {
        case idle
        /// The next pass shows the changes.
        case due
        /// An event was shown less than a second ago.
        case resting(isChanged: Bool)
    }

    weak var feed: Feed?
    /// The state of this session in the schedule.
    var phase = Phase.idle
    private var names: [ExactText: Entry] = [:]
    /// The streams that count under their names.
    private var counted = 0
    /// The readers on all loops that get events.
    private var watching = 0
    private(set) var changes: UInt64 = 0
    private var framed: PresenceEvent?
    let events = PresenceEvents()
    /// The readers at other nodes.
    private var parts: [PresencePart: PresentReaders] = [:]
    /// The readers that other nodes were sent last.
    private var sent: [PresencePart: PresentReaders] = [:]
    /// Each returns whether to call it again.
    private var followers: [(PresentReaders) -> Bool] = []

    static let nameLimit = 10_000
    static let graceMilliseconds: Int64 = 10_000

    init(of feed: Feed) { self.feed = feed }

    /// The readers at all nodes.
    package var present: PresentReaders { merged(without: nil) }

    private func merged(without part: PresencePart?) -> PresentReaders {
        let streams = feed?.streams.subscriberCount ?? counted
        // The owner has names of other nodes from them. If it got them back, two nodes could return
        // each other a name as long as their link keeps breaking.
        let known = part == .owner ? names.filter { !$0.value.isElsewhere } : names
        let own = PresentReaders(known.keys, others: max(0, streams - counted))
        guard !parts.isEmpty else { return own }
        return PresentReaders([own] + parts.filter { $0.key != part }.values)
    }

    /// The present set as an event.
    func event() -> PresenceEvent {
        if let framed, framed.change == changes { return framed }
        let event = PresenceEvent(present, at: changes)
        framed = event
        return event
    }

    // MARK: Readers

    func joined(_ subscriber: Subscriber) {
        guard let reader = subscriber.presence else { return change() }
        reader.part.isCounted = reader.part.name.map { count($0) } ?? false
        if !reader.part.isCounted { change() }
        if reader.part.getsEvents { watching += 1 }
        events.add(subscriber, reader)
    }

    /// Counts a stream under its name, if there is room for the name.
    private func count(_ name: ExactText) -> Bool {
        let known = names[name]
        guard known != nil || names.count < Self.nameLimit else { return false }
        names[name, default: Entry()].streams += 1
        names[name]?.isElsewhere = false
        counted += 1
        if known == nil { change() } else if known?.isElsewhere ?? false { showAgain() }
        return true
    }

    func follow(_ follower: @escaping (PresentReaders) -> Bool) { followers.append(follower) }

    /// A reader on any loop has left.
    ///
    /// - Parameter part: nil if it has none.
    func left(_ part: ReaderPresence?) {
        if part?.getsEvents ?? false { watching -= 1 }
        guard let part, part.isCounted, let name = part.name, var entry = names[name] else {
            return change()
        }
        counted -= 1
        entry.streams -= 1
        if entry.streams == 0, !beginGrace(of: name, &entry) {
            names[name] = nil
            return change()
        }
        names[name] = entry
    }

    /// - Returns: false if there is no room.
    private func beginGrace(of name: ExactText, _ entry: inout Entry) -> Bool {
        guard let loop = feed?.loop else { return false }
        entry.until = loop.uptime() + Self.graceMilliseconds
        return loop.presence.wait(for: name, of: self, until: entry.until)
    }

    /// Readers on another loop have left.
    func left(_ departed: DepartedReaders) {
        for part in departed.parts { left(part) }
        if departed.count > departed.parts.count { change() }
    }

    /// The grace of a name ends, unless the reader has returned.
    func endGrace(of name: ExactText, at until: Int64) {
        guard let entry = names[name], entry.streams == 0, entry.until == until else { return }
        names[name] = nil
        change()
    }

    // MARK: Other nodes

    func set(_ present: PresentReaders?, from part: PresencePart) {
        let earlier = parts.removeValue(forKey: part)
        parts[part] = present
        guard present == nil else { return present == earlier ? () : change() }
        let wasSent = sent.removeValue(forKey: part) != nil
        // A page may reconnect to that node or another one; its name must not flicker.
        for name in earlier?.names ?? [] where names[name]?.streams ?? 0 == 0 {
            guard names[name] != nil || names.count < Self.nameLimit else { continue }
            var entry = Entry(isElsewhere: true)
            if beginGrace(of: name, &entry) { names[name] = entry }
        }
        if earlier != nil || wasSent { change() }
    }

    func send(to part: PresencePart, _ send: (PresentReaders) -> Bool) {
        let rest = merged(without: part)
        guard sent[part] != rest else { return }
        if send(rest) { sent[part] = rest } else { showAgain() }
    }

    /// Sends the set again to a node that did not get it. Readers get no event.
    func showAgain() { feed?.loop.presence.changed(self) }

    func change() {
        changes += 1
        showAgain()
    }

    /// Shows the present set to the readers that get events.
    ///
    /// - Returns: whether somebody follows it.
    func show() -> Bool {
        guard let feed else { return false }
        if !followers.isEmpty {
            let present = present
            followers.removeAll { !$0(present) }
        }
        feed.loop.upstream?.presenceChanged(feed)
        guard watching > 0 else { return !followers.isEmpty || !sent.isEmpty }
        let event = event()
        events.show(event, feed.loop.presence)
        for stream in feed.streams.all { feed.loop.replicas.show(event, on: stream) }
        return true
    }
}

extension Feed {
    /// The readers at this moment.
    package var present: PresentReaders {
        presence?.present ?? PresentReaders([], others: streams.subscriberCount)
    }

    /// - Parameter act: called with each change, at most once a second, on the loop of the session.
    ///   Returns whether to call it again.
    package func followPresence(_ act: @escaping (PresentReaders) -> Bool) {
        openPresence().follow(act)
    }

    /// The part of a new reader; nil if it has none.
    func reader(_ part: ReaderPresence?) -> PresenceReader? {
        guard let part else { return nil }
        let session = openPresence()
        return PresenceReader(part, session.events, of: session)
    }

    func openPresence() -> SessionPresence {
        let session = presence ?? SessionPresence(of: self)
        presence = session
        return session
    }

    /// Takes the presence and its readers from the previous generation.
    func takePresence(of earlier: Feed) {
        guard let session = earlier.presence else { return }
        session.feed = self
        (presence, earlier.presence) = (session, nil)
        // The earlier generation's stream to the owner has ended.
        session.set(nil, from: .owner)
    }
}

package import JSONCoding
package import Storage

/// The committed history of one session and its framed streams, as this loop knows them.
///
/// Design (ADR-0073): readers read a feed and know no session. A session decides, commits, and
/// appends to its feed in this order: entries are decided in ``history``, the journal commits them,
/// ``History/commit(_:)`` advances the committed end, and ``publish(isContinued:)`` frames what is
/// before that end. The feed's code shows nothing after that end.
///
/// The journal (``archive``) has the entries that are no longer in memory. Questions that only a
/// state in memory can answer go to ``source``.
package final class Feed {
    package let id: SessionID
    package let generation: Generation
    package let key: SessionKey
    let loop: FeedLoop
    /// The owner and the input of the session. Set once, before the session is made.
    package var creation: SessionCreation
    /// The events of the session's reactor.
    package let catalog: EventCatalog
    /// Why a constant: a variable reference is retained for each use.
    package let history = History()
    /// Nil if the journal has no archive.
    package let archive: FeedArchive?
    /// Nil while there is no state in memory: the session is asleep, has ended, or is followed.
    ///
    /// Why unowned: a weak reference would make each use of the session slower. Invariant: the
    /// source sets this property, and clears it when the source leaves memory.
    package unowned var source: (any FeedSource)?
    package var activities = ActivityNames()
    /// Nil until a reader has a name or gets `presence` events.
    var presence: SessionPresence?
    /// Why not the property itself: see ``History``.
    private var openStreams = FeedStreams()
    /// Whether a later pass continues to frame.
    package internal(set) var isFraming = false
    /// Whether that pass frames states, too.
    var areStatesLeft = false
    /// The bytes by which the history exceeds its limits because streams have not framed it yet.
    var lag = 0 {
        didSet { loop.pass.countLag(lag - oldValue) }
    }

    /// The earliest time at which the session may expire, as far as this loop knows: milliseconds
    /// since 1970 (UTC), by the journal's clock. 0: unknown, or it never expires.
    package var expiry: Int64 = 0

    package init(
        _ id: SessionID, _ generation: Generation, _ catalog: EventCatalog, _ saved: SavedSession?,
        in loop: FeedLoop
    ) {
        self.id = id
        self.generation = generation
        self.catalog = catalog
        self.loop = loop
        creation = saved?.creation ?? SessionCreation()
        key = SessionKey(session: id.text, generation: generation.text)
        archive = loop.journal.isArchived ? FeedArchive(saved) : nil
    }

    deinit { if lag > 0 { loop.pass.countLag(-lag) } }

    package var reactor: String { catalog.reactor }

    /// The client that created the session; nil if the client was not authenticated.
    package var owner: ExactText? { creation.owner }

    /// One for each selection that has readers.
    package internal(set) var streams: FeedStreams {
        get { openStreams }
        set {
            let changes = openStreams.isEmpty != newValue.isEmpty
            openStreams = newValue
            if changes { loop.upstream?.readersChanged(self) }
        }
    }

    package var position: Position { Position(generation, history.committed.number) }

    // MARK: Positions

    /// The last position that a stream of this selection may show.
    package func committedPosition(for selection: Selection) -> HistoryPosition {
        history.committedPosition(notes: selection.log)
    }

    /// The position after which memory has everything for a stream of this selection.
    package func keptPosition(for selection: Selection) -> HistoryPosition {
        history.keptPosition(notes: selection.log)
    }

    /// The position after which a client continues, or the reason why it cannot.
    package func resumption(
        _ text: String, _ selection: Selection
    ) -> Result<Position, ResetReason> {
        guard let position = Position(text) else { return .failure(.malformed) }
        guard position.generation == generation else { return .failure(.generation) }
        guard position.inHistory <= committedPosition(for: selection) else {
            return .failure(.ahead)
        }
        // If the journal has an archive, the read shows whether it has the position.
        guard position.inHistory >= keptPosition(for: selection) || archive != nil else {
            return .failure(.trimmed)
        }
        return .success(position)
    }

    // MARK: Names

    /// The fields of an event before its position.
    func prefix(of source: EventSource) -> [UInt8] {
        switch source {
        case .pulse(let index): catalog.pulsePrefixes[index]
        case .activity(let index): activities.prefix(at: index, in: catalog)
        case .state: EventFramer.state
        case .content: preconditionFailure("only the action log shows it")
        }
    }

    /// The source of an event of a stored record, by its name. Nil if today's reactor has no such
    /// pulse, or if the session has reached the limit of names of activities.
    func source(of name: String, in kind: HistoryEntry.Kind) -> EventSource? {
        guard kind == .mutation else {
            return activities.index(named: name, in: catalog).map { .activity($0) }
        }
        if let index = catalog.pulses.firstIndex(exactly: name) { return .pulse(index) }
        // Older journals name pulses by their coding keys.
        return catalog.properties.firstIndex(exactly: name).map { .pulse($0) }
    }

    // MARK: States

    /// Whether a state should be encoded together with its record, because a stream shows states.
    ///
    /// - Parameters:
    ///   - ahead: the bytes of states that were encoded with records which are not framed yet.
    ///   - stateBytes: the size of the state.
    package func wantsStates(ahead: Int, ofBytes stateBytes: Int) -> Bool {
        openStreams.showStates && ahead <= SharedStream.surplusBytes
            && stateBytes <= StateFraming.aheadBytes
    }

    /// The parts of the state that streams show.
    package var pointers: [JSONPointer] { streams.all.compactMap(\.selection.pointer) }

    /// Whether there is a state in memory.
    var isAwake: Bool { source != nil }

    /// About the bytes of the state as JSON; 0 if it was not measured.
    var stateEstimate: Int { source?.stateEstimate ?? 0 }

    /// The state as it was shown at this record.
    ///
    /// - Parameter events: those of the record, which may have the state.
    /// - Precondition: a state is in memory, or the events have it.
    func shown(at number: UInt64, _ events: KeptEvents? = nil) -> ShownVersion {
        if let state = events?.state {
            return ShownVersion(state, loop.pass) { [unowned self] in source?.pointers() ?? [] }
        }
        let version = history.version(at: number) ?? history.keptVersion
        return source?.shown(at: version) ?? ShownVersion(EventFramer.null, loop.pass)
    }

    /// Ends a sequence of reads of earlier states.
    func endReplay() { source?.endReplay() }

    /// Appends the state as clients see it; `null` if it has no JSON. A decoration that has no JSON
    /// is logged, and the state is appended without it.
    ///
    /// - Returns: why the state has no JSON.
    @discardableResult
    package func append(_ fold: any StateFold, to out: inout [UInt8]) -> JSONEncodingFailure? {
        do throws(JSONEncodingFailure) {
            if let error = try fold.encodeShown(to: &out) {
                report(
                    .undecorated(
                        "version \(fold.version) and others are shown undecorated: \(error)"))
            }
            return nil
        } catch {
            out.append(contentsOf: EventFramer.null)
            report(.unencodableState(error.description))
            return error
        }
    }

    func report(_ failure: FeedFailure) { loop.upstream?.report(failure, of: self) }

    // MARK: The action log

    /// The line of an entry that is in memory; nil for the end, which the stream itself shows.
    package func line(_ head: HistoryEntry.Head, _ events: KeptEvents) -> ActionLogLine? {
        guard head.kind == .mutation else { return ActionLogLine(head, events.content) }
        var content: [UInt8] = []
        source?.appendMutation(to: head.version, &content)
        return ActionLogLine(head, content[...])
    }
}

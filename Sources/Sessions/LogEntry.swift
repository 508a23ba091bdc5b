internal import JSONCoding
internal import Storage
internal import Wire

/// One entry of a session's action log as it is shown: one line of JSON,
/// `{"position":…,"time":…,"action":…,"version":…,"kind":…,"content":…}`.
///
/// `action` is the number of the action that led to it, left out where none did; `version` is
/// there for mutations alone.
struct LogEntry {
    /// What an entry tells. The raw value is its `kind` and the name of its event.
    enum Kind: String {
        /// `{"received":…}`; with `"transformed":…` where `transform(action:)` made another of it.
        case actionReceived = "action.received"
        /// `{"received":…}`: the session is stubbed, and has recorded it.
        case actionRecorded = "action.recorded"
        /// `{"received":…}`: a hook turned it down; with `error`: a Cycler failed to carry it out.
        case actionRejected = "action.rejected"
        /// What was reduced; of a Cycler the committed state.
        case mutation
        /// `{"mutation":…,"reason":…}`: it came from a step that had ended (`ended`), or a hook
        /// dropped it (`transform`).
        case mutationDropped = "mutation.dropped"
        /// A stubbed session shows another state, or its own again: a version that no mutation made.
        case stateReplaced = "state.replaced"
        /// What was told.
        case activity
        /// `{"activity":…,"reason":"ended"}`
        case activityDropped = "activity.dropped"
        /// `{"id":…}` where the step has one; so have the others of effects.
        case effectStarted = "effect.started"
        case effectEnded = "effect.ended"
        case effectCancelled = "effect.cancelled"
        /// `{"id":…,"place":"effect","error":…}`
        case effectFailed = "effect.failed"
        /// `{"id":…,"reason":…}`: one of its id was running (`first`), or it was cancelled
        /// before it began (`cancelledBeforeStart`).
        case effectSkipped = "effect.skipped"
        /// `{"source":…}`
        case sourceEnded = "source.ended"
        /// `{"source":…,"place":"source","error":…}`
        case sourceFailed = "source.failed"
        /// `{"place":…,"error":…}`
        case hookFailed = "hook.failed"
        // Of a Cycler. Their content is `{"name":…,"dispatch":…,"description":…,"file":…,
        // "function":…,"line":…}`, of `did…` with `outcome`, `version` and `error` as they apply.
        case willDispatch = "cycler.willDispatch"
        case didDispatch = "cycler.didDispatch"
        case willMutate = "cycler.willMutate"
        case didMutate = "cycler.didMutate"
        /// `{"keyPath":…,"value":…}`
        case didChange = "cycler.didChange"
        /// `{"replaced":true,"state":…}`
        case didReplace = "cycler.didReplace"
        case didEmit = "cycler.didEmit"
        /// With `"dropped":"commit"` or `"emission"`.
        case didDrop = "cycler.didDrop"
    }

    init(
        place: HistoryPosition, time: Int64, action: UInt64, body: ArraySlice<UInt8>
    ) {
        self.place = place
        self.time = time
        self.action = action
        self.body = body
    }

    var place: HistoryPosition
    /// Milliseconds since 1970 (UTC).
    var time: Int64
    var action: UInt64
    var version: UInt64?
    /// `{"kind":…,"content":…}`
    var body: ArraySlice<UInt8>

    /// The entry that a record or a note of the journal is; nil for those that have none.
    init?(_ record: HistoryEntry) {
        place = HistoryPosition(record.number, part: record.part)
        time = record.time
        action = record.action
        switch record.kind {
        case .mutation:
            version = record.version
            body = Self.body(ofMutation: record.content)[...]
        case .activity: body = Self.body(.activity, record.content)[...]
        case .failure:
            let place = Self.place(ofFailure: record.content)
            body = Self.body(Self.kind(ofFailureAt: place), record.content)[...]
        case .note: body = record.content[...]
        case .created, .deleted: return nil
        }
    }

    /// The content of a failure begins with it.
    private static func place(ofFailure content: [UInt8]) -> Substring {
        let rest = content.dropFirst(placeField.count).prefix { $0 != UInt8(ascii: "\"") }
        return Substring(decoding: rest, as: UTF8.self)
    }

    private static let placeField = Array("{\"place\":\"".utf8)

    /// The form in which kind and content are kept: `{"kind":…,"content":…}`.
    static func body(_ kind: Kind, _ content: some Collection<UInt8>) -> [UInt8] {
        var body: [UInt8] = []
        body.reserveCapacity(content.count + 48)
        append(kind, to: &body) { $0.append(contentsOf: content) }
        return body
    }

    /// The same of what `write` appends; nothing is `null`.
    static func append(
        _ kind: Kind, to body: inout [UInt8], _ write: (inout [UInt8]) -> Void
    ) {
        body.append(contentsOf: kindField)
        body.append(contentsOf: kind.rawValue.utf8)
        body.append(contentsOf: contentField)
        let start = body.count
        write(&body)
        if body.count == start { body.append(contentsOf: Framing.null) }
        body.append(UInt8(ascii: "}"))
    }

    /// A mutation, or what no mutation was: nothing.
    static func body(ofMutation content: [UInt8]) -> [UInt8] {
        body(content.isEmpty ? .stateReplaced : .mutation, content)
    }

    /// The kind of a record of a failure, told by where it happened.
    static func kind(ofFailureAt place: some StringProtocol) -> Kind {
        switch place {
        case "effect": .effectFailed
        case "source": .sourceFailed
        default: .hookFailed
        }
    }

    /// Appends the entry.
    func append(_ generation: Generation, to out: inout [UInt8]) {
        out.append(contentsOf: "{\"position\":\"".utf8)
        Position(generation, place).append(to: &out)
        out.append(contentsOf: "\",\"time\":\"".utf8)
        Timestamp.append(milliseconds: time, to: &out)
        out.append(UInt8(ascii: "\""))
        if action > 0 {
            out.append(contentsOf: ",\"action\":".utf8)
            Decimal.append(action, to: &out)
        }
        if let version {
            out.append(contentsOf: ",\"version\":".utf8)
            Decimal.append(version, to: &out)
        }
        out.append(UInt8(ascii: ","))
        out.append(contentsOf: body.dropFirst())
    }

    /// Appends the entry as an event that is named after its kind.
    func appendEvent(_ generation: Generation, isChunked: Bool, to out: inout [UInt8]) {
        let start = out.count
        out.append(contentsOf: "event: ".utf8)
        out.append(contentsOf: body.dropFirst(Self.kindField.count).prefix { $0 != 0x22 })
        out.append(contentsOf: "\nid: ".utf8)
        Position(generation, place).append(to: &out)
        out.append(contentsOf: "\ndata: ".utf8)
        append(generation, to: &out)
        out.append(contentsOf: "\n\n".utf8)
        if isChunked { ChunkEncoder.wrap(from: start, in: &out) }
    }

    private static let kindField = Array("{\"kind\":\"".utf8)
    private static let contentField = Array("\",\"content\":".utf8)
}

internal import JSONCoding
package import Storage
internal import Wire

/// One entry of a session's action log as clients get it: one line of JSON,
/// `{"position":…,"time":…,"action":…,"version":…,"kind":…,"content":…}`.
///
/// `action` is the number of the action that caused the entry; absent if there is none. Only
/// mutations have a `version`.
package struct ActionLogLine {
    /// The raw value is the entry's `kind` and the name of its event.
    package enum Kind: String {
        /// `{"received":…}`; with `"subject":…` if the client is known and `"key":…` if the request
        /// had an `Idempotency-Key`, also in the next two kinds; with `"transformed":…` if
        /// `transform(action:)` has changed it.
        case actionReceived = "action.received"
        /// `{"received":…}`: the session is stubbed and has recorded the action.
        case actionRecorded = "action.recorded"
        /// `{"received":…}`: a hook rejected the action; with `error`: a Cycler's action failed.
        case actionRejected = "action.rejected"
        /// The mutation; for a Cycler the committed state.
        case mutation
        /// `{"mutation":…,"reason":…}`: the mutation came from a step that had ended (`ended`), or
        /// a hook dropped it (`transform`).
        case mutationDropped = "mutation.dropped"
        /// A stub shows another state, or the session's own again: a version without a mutation.
        case stateReplaced = "state.replaced"
        /// The activity.
        case activity
        /// `{"activity":…,"reason":"ended"}`
        case activityDropped = "activity.dropped"
        /// `{"step":…,"id":…}`: the step's number, and its name if it has one; likewise for the end
        /// and the cancellation. `{}` for an action of a Cycler.
        case effectStarted = "effect.started"
        case effectEnded = "effect.ended"
        case effectCancelled = "effect.cancelled"
        /// `{"place":"effect","step":…,"id":…,"error":…}`; without a step if the
        /// synchronous part failed.
        case effectFailed = "effect.failed"
        /// `{"id":…,"reason":…}`: a step with the same id was running (`first`), or the step was
        /// cancelled before it began (`cancelledBeforeStart`).
        case effectSkipped = "effect.skipped"
        /// `{"name":…,"number":…,"due":…}`: the number of the action that has set the timer.
        case timerSet = "timer.set"
        /// The same content. The session receives the timer's action.
        case timerFired = "timer.fired"
        /// `{"name":…}`
        case timerCancelled = "timer.cancelled"
        /// `{"source":…}`
        case sourceEnded = "source.ended"
        /// `{"source":…,"place":"source","error":…}`
        case sourceFailed = "source.failed"
        /// `{"place":…,"error":…}`
        case hookFailed = "hook.failed"
        // Kinds of a Cycler. Their content is `{"name":…,"dispatch":…,"description":…,"file":…,
        // "function":…,"line":…}`; kinds `did…` add `outcome`, `version` and `error` if they apply.
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

    package let head: HistoryEntry.Head
    /// The entry's content. A note's content is the end of the line, from `{"kind":`.
    private let content: ArraySlice<UInt8>

    /// Nil for entries that the action log does not show: the creation and the end of a session.
    package init?(_ head: HistoryEntry.Head, _ content: ArraySlice<UInt8>) {
        guard head.kind != .created, head.kind != .deleted else { return nil }
        self.head = head
        self.content = content
    }

    package init?(_ entry: HistoryEntry) { self.init(entry.head, entry.content[...]) }

    /// Appends a note's content: `{"kind":…,"content":…}`. If `write` appends nothing,
    /// it is `null`.
    package static func append(
        _ kind: Kind, to body: inout [UInt8], _ write: (inout [UInt8]) -> Void
    ) {
        body.append(contentsOf: kindField)
        body.append(contentsOf: kind.rawValue.utf8)
        body.append(contentsOf: contentField)
        let start = body.count
        write(&body)
        if body.count == start { body.append(contentsOf: EventFramer.null) }
        body.append(UInt8(ascii: "}"))
    }

    /// Appends the line.
    package func append(_ generation: Generation, to out: inout [UInt8]) {
        out.append(contentsOf: "{\"position\":\"".utf8)
        Position(generation, head.position).append(to: &out)
        out.append(contentsOf: "\",\"time\":\"".utf8)
        Timestamp.append(milliseconds: head.time, to: &out)
        out.append(UInt8(ascii: "\""))
        if head.action > 0 {
            out.append(contentsOf: ",\"action\":".utf8)
            Decimal.append(head.action, to: &out)
        }
        if head.kind == .mutation {
            out.append(contentsOf: ",\"version\":".utf8)
            Decimal.append(head.version, to: &out)
        }
        out.append(UInt8(ascii: ","))
        guard let kind else { return out.append(contentsOf: content.dropFirst()) }
        out.append(contentsOf: Self.kindField.dropFirst())
        out.append(contentsOf: kind.rawValue.utf8)
        out.append(contentsOf: Self.contentField)
        out.append(contentsOf: content.isEmpty ? EventFramer.null[...] : content)
        out.append(UInt8(ascii: "}"))
    }

    /// Appends the line as an event. The event's name is the entry's kind.
    ///
    /// - Parameter cause: the `Idempotency-Key` of the request that has left the entry, if
    ///   it is a record.
    package func appendEvent(
        _ generation: Generation, cause: String?, isChunked: Bool, to out: inout [UInt8]
    ) {
        let start = out.count
        out.append(contentsOf: "event: ".utf8)
        if let kind {
            out.append(contentsOf: kind.rawValue.utf8)
        } else {
            out.append(contentsOf: content.dropFirst(Self.kindField.count).prefix { $0 != 0x22 })
        }
        out.append(contentsOf: "\nid: ".utf8)
        Position(generation, head.position).append(to: &out)
        if let cause {
            out.append(contentsOf: EventFramer.causeField)
            out.append(contentsOf: cause.utf8)
        }
        out.append(contentsOf: "\ndata: ".utf8)
        let data = out.count
        append(generation, to: &out)
        LineSeparators.escape(from: data, in: &out)
        out.append(contentsOf: "\n\n".utf8)
        if isChunked { ChunkEncoder.wrap(from: start, in: &out) }
    }

    /// The kind of a record; nil for a note, whose content has it.
    private var kind: Kind? {
        switch head.kind {
        case .mutation: content.isEmpty ? .stateReplaced : .mutation
        case .activity: .activity
        case .failure: failureKind
        case .created, .deleted, .note: nil
        }
    }

    /// The content of a failure begins with its place.
    private var failureKind: Kind {
        let rest = content.dropFirst(Self.placeField.count).prefix { $0 != UInt8(ascii: "\"") }
        switch Substring(decoding: rest, as: UTF8.self) {
        case "effect": return .effectFailed
        case "source": return .sourceFailed
        default: return .hookFailed
        }
    }

    private static let kindField = Array("{\"kind\":\"".utf8)
    private static let contentField = Array("\",\"content\":".utf8)
    private static let placeField = Array("{\"place\":\"".utf8)
}

internal import Feeds
internal import JSONCoding
internal import Reactors
internal import Storage

/// Enters the ends and failures of a session's effects and sources into its action log.
struct EffectLog {
    let session: Session

    // MARK: Effects

    /// - Parameters:
    ///   - step: nil for an action of a Cycler that waits: its steps have no numbers.
    ///   - id: the step's name, if it has one.
    func started(_ step: RunID? = nil, _ id: EffectID? = nil, of action: ActionTag) {
        enter(.effectStarted, step, id, of: action)
    }

    func ended(_ step: RunID? = nil, _ id: EffectID? = nil, of action: ActionTag) {
        enter(.effectEnded, step, id, of: action)
    }

    func cancelled(_ step: RunID? = nil, _ id: EffectID? = nil, of action: ActionTag) {
        enter(.effectCancelled, step, id, of: action)
    }

    func skipped(_ id: EffectID, because reason: DropReason, of action: ActionTag) {
        session.enter(.effectSkipped, of: action) { out in
            out.append(contentsOf: "{\"id\":".utf8)
            JSON.appendString(id.name, to: &out)
            out.append(contentsOf: ",\"reason\":\"\(reason.rawValue)\"}".utf8)
        }
    }

    private func enter(
        _ kind: ActionLogLine.Kind, _ step: RunID?, _ id: EffectID?, of action: ActionTag
    ) {
        session.enter(kind, of: action) { out in
            out.append(UInt8(ascii: "{"))
            if let step { out.append(contentsOf: "\"step\":\(step.number)".utf8) }
            if let id {
                out.append(contentsOf: (step == nil ? "\"id\":" : ",\"id\":").utf8)
                JSON.appendString(id.name, to: &out)
            }
            out.append(UInt8(ascii: "}"))
        }
    }

    func dropped(
        mutation: some Encodable, because reason: DropReason, of action: ActionTag
    ) {
        session.enter(.mutationDropped, of: action) { out in
            out.append(contentsOf: "{\"mutation\":".utf8)
            session.append(mutation, "a mutation", to: &out)
            out.append(contentsOf: ",\"reason\":\"\(reason.rawValue)\"}".utf8)
        }
        if reason == .ended { session.report(.dropped("a mutation")) }
    }

    func dropped(activity: some Encodable, of action: ActionTag) {
        session.enter(.activityDropped, of: action) { out in
            out.append(contentsOf: "{\"activity\":".utf8)
            session.append(activity, "an activity", to: &out)
            out.append(contentsOf: ",\"reason\":\"ended\"}".utf8)
        }
        session.report(.dropped("an activity"))
    }

    // MARK: Failures

    /// Records `{"place":…,"error":…}`, with the `step` and the `id` of the effect or the name of
    /// the `source`.
    func failed(
        at place: ReactorFailure.Place, _ error: String, step: RunID? = nil, id: EffectID? = nil,
        source: String? = nil, of action: ActionTag
    ) {
        var content = Array("{\"place\":\"\(place.rawValue)\"".utf8)
        if let step { content.append(contentsOf: ",\"step\":\(step.number)".utf8) }
        if let id {
            content.append(contentsOf: ",\"id\":".utf8)
            JSON.appendString(id.name, to: &content)
        }
        if let source {
            content.append(contentsOf: ",\"source\":".utf8)
            JSON.appendString(source, to: &content)
        }
        content.append(contentsOf: ",\"error\":".utf8)
        JSON.appendString(error, to: &content)
        content.append(UInt8(ascii: "}"))
        session.recordFailure(at: place.rawValue, error, content, of: action)
    }

    /// Adds a record if the history ends with notes. Why: notes are trimmed together with the
    /// record that follows them. The record is a failure, because every reader of the log knows
    /// failures. The server does not report it.
    func close() {
        guard session.history.newest.notes > 0 else { return }
        session.beginFailure(Self.closing, of: .none)
    }

    private static let closing = Array(
        """
        {"place":"effect","error":"this record ends many log entries, so that they can be trimmed"}
        """.utf8)
}

internal import JSONCoding
public import Reactors
internal import Storage

// The action log of a reactor: turns the core's reports to its observer into notes.
extension ReactorMachine {
    /// The effect or source whose end the core is handling.
    enum Ending {
        case nothing
        case effect(EffectID?, hasFailed: Bool)
        case source(String, hasFailed: Bool)
    }

    func ended(_ run: EffectRun<R>, failure: (any Error)?) {
        ending = .effect(run.effectID, hasFailed: failure != nil)
        core.ended(run, failure: failure, observer: self)
        ending = .nothing
    }

    func ended(_ source: R.Source, failure: (any Error)?) {
        ending = .source(source.name, hasFailed: failure != nil)
        core.ended(source: source, failure: failure, observer: self)
        ending = .nothing
    }

    func encodeMutation(to version: UInt64, in session: Session, out: inout [UInt8]) {
        precondition(version > oldestVersion && version <= core.version, "not a kept mutation")
        guard !stubVersions.contains(version) else { return }
        session.append(mutations[mutationCount(through: version) - 1], "a mutation", to: &out)
    }

    // MARK: Notes

    /// - Parameter isUnchanged: both are the same, bit for bit and reference for reference; then so
    ///   are their encodings. If they differ, were it only between fields, these are compared.
    @usableFromInline
    func enterAccepted(
        _ action: R.Action, as transformed: R.Action, isUnchanged: Bool, _ tag: ActionTag
    ) {
        session.enterReceived(.actionReceived, action, of: tag) { out in
            if !isUnchanged { appendDifference(of: transformed, from: action, to: &out) }
        }
    }

    private func appendDifference(
        of transformed: R.Action, from action: R.Action, to out: inout [UInt8]
    ) {
        var (before, after): ([UInt8], [UInt8]) = ([], [])
        session.append(action, "an action", to: &before)
        session.append(transformed, "an action", to: &after)
        guard before != after else { return }
        out.append(contentsOf: ",\"transformed\":".utf8)
        out.append(contentsOf: after)
    }

    /// A hook answered nil, or failed; the failure has its own record.
    @usableFromInline
    func enterRejected(_ action: R.Action, _ tag: ActionTag) {
        session.enterReceived(.actionRejected, action, of: tag)
    }

    func enterStarted(_ run: EffectRun<R>) {
        if let id = run.effectID { effectIDs[run.id] = id }
        session.enter(.effectStarted, of: run.action) { Self.append(run.effectID, to: &$0) }
    }

    func enterEnded(_ kind: ActionLogLine.Kind, _ run: RunID, _ action: ActionTag) {
        let id = effectIDs.removeValue(forKey: run)
        session.enter(kind, of: action) { Self.append(id, to: &$0) }
    }

    @usableFromInline
    func skipped(_ effectID: EffectID, action: ActionTag, because reason: DropReason) {
        session.enter(.effectSkipped, of: action) { out in
            out.append(contentsOf: "{\"id\":".utf8)
            JSON.appendString(effectID.name, to: &out)
            out.append(contentsOf: ",\"reason\":\"\(reason.rawValue)\"}".utf8)
        }
    }

    @usableFromInline
    func sourceEnded(_ name: String) {
        // A failure has a record.
        guard case .source(_, hasFailed: false) = ending else { return }
        session.enterEnd(ofSource: name)
    }

    @usableFromInline
    func dropped(_ mutation: R.Mutation, by action: ActionTag, because reason: DropReason) {
        session.enter(.mutationDropped, of: action) { out in
            out.append(contentsOf: "{\"mutation\":".utf8)
            session.append(mutation, "a mutation", to: &out)
            out.append(contentsOf: ",\"reason\":\"\(reason.rawValue)\"}".utf8)
        }
        if reason == .ended { session.report(.dropped("a mutation")) }
    }

    @usableFromInline
    func dropped(_ activity: R.Activity, by action: ActionTag) {
        session.enter(.activityDropped, of: action) { out in
            out.append(contentsOf: "{\"activity\":".utf8)
            session.append(activity, "an activity", to: &out)
            out.append(contentsOf: ",\"reason\":\"ended\"}".utf8)
        }
        session.report(.dropped("an activity"))
    }

    // MARK: Content

    /// `{"place":…,"error":…}`, with the `id` of the effect or the name of the `source`.
    func content(of failure: ReactorFailure, _ text: String) -> [UInt8] {
        var content = Array("{\"place\":\"\(failure.place.rawValue)\"".utf8)
        switch (failure.place, ending) {
        case (.effect, .effect(let id?, _)):
            content.append(contentsOf: ",\"id\":".utf8)
            JSON.appendString(id.name, to: &content)
        case (.source, .source(let name, _)):
            content.append(contentsOf: ",\"source\":".utf8)
            JSON.appendString(name, to: &content)
        default: break
        }
        content.append(contentsOf: ",\"error\":".utf8)
        JSON.appendString(text, to: &content)
        content.append(UInt8(ascii: "}"))
        return content
    }

    private static func append(_ id: EffectID?, to out: inout [UInt8]) {
        guard let id else { return out.append(contentsOf: "{}".utf8) }
        out.append(contentsOf: "{\"id\":".utf8)
        JSON.appendString(id.name, to: &out)
        out.append(UInt8(ascii: "}"))
    }
}

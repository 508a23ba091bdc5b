internal import JSONCoding
internal import Cyclers
internal import Reactors

// Turns the Cycler's reports into records and notes of the session's present step.
extension CyclerMachine: CyclerObserver {
    typealias State = C.State
    typealias Activity = C.Activity

    var wantsChanges: Bool { session.keepsNotes }

    func committed(_ state: C.State, version: UInt64, by call: CyclerCall?) {
        record(.committed(state))
    }

    func emitted(_ activity: C.Activity, by call: CyclerCall) {
        var encoded: [UInt8] = []
        do {
            try JSON.encode(activity, into: &encoded)
            record(.emitted(encoded))
        } catch {
            record(.refused(.notEncodable("an activity", error)))
        }
    }

    /// At once, or with the rest of the synchronous part. Nothing comes after the end.
    private func record(_ event: PendingEvent) {
        guard pendingEvents == nil else {
            pendingEvents?.append(event)
            return
        }
        guard session.mayDecide else { return }
        apply(event)
    }

    // MARK: Notes

    func enterReceived(_ action: C.Action, _ tag: ActionTag) {
        session.enterReceived(.actionReceived, action, of: tag)
    }

    func willDispatch(_ call: CyclerCall) { recordCall(.willDispatch, call) }

    func didDispatch(_ call: CyclerCall, error: (any Error)?) {
        recordCall(.didDispatch, call) { append(error, to: &$0) }
    }

    func willMutate(_ call: CyclerCall) { recordCall(.willMutate, call) }

    func didMutate(_ call: CyclerCall, outcome: CommitOutcome) {
        var isOfSuccess = false
        if case .committed = outcome { isOfSuccess = true }
        recordCall(.didMutate, call, isOfSuccess: isOfSuccess) { out in
            out.append(contentsOf: ",\"outcome\":".utf8)
            switch outcome {
            case .committed(let version):
                out.append(contentsOf: "\"committed\",\"version\":\(version)".utf8)
            case .unchanged: out.append(contentsOf: "\"unchanged\"".utf8)
            case .joined: out.append(contentsOf: "\"joined\"".utf8)
            case .failed(let error):
                out.append(contentsOf: "\"failed\"".utf8)
                append(error, to: &out)
            }
        }
    }

    func didChange<Root, Value>(
        _ value: Value, for path: WritableKeyPath<Root, Value>, root: Root
    ) {
        guard session.keepsNotes else { return }
        var content = Array("{\"keyPath\":".utf8)
        JSON.appendString(String(describing: path), to: &content)
        appendValue("value", value, to: &content)
        record(.note(.didChange, content, isOfSuccess: true))
    }

    func didReplace<Root>(root: Root) {
        guard session.keepsNotes else { return }
        var content = Array("{\"replaced\":true".utf8)
        appendValue("state", root, to: &content)
        record(.note(.didReplace, content, isOfSuccess: true))
    }

    func didEmit<Told: Sendable>(_ activity: Told, _ call: CyclerCall) {
        recordCall(.didEmit, call, isOfSuccess: true)
    }

    func didDrop(_ dropped: DroppedCall, _ call: CyclerCall) {
        recordCall(.didDrop, call) {
            $0.append(contentsOf: ",\"dropped\":\"\(dropped.rawValue)\"".utf8)
        }
    }

    /// `{"dispatch":…,"name":…,"description":…,"file":…,"function":…,"line":…}` and what `more`
    /// adds.
    private func recordCall(
        _ kind: ActionLogLine.Kind, _ call: CyclerCall, isOfSuccess: Bool = false,
        _ more: (inout [UInt8]) -> Void = { _ in }
    ) {
        guard session.keepsNotes else { return }
        var content: [UInt8] = Array("{\"name\":".utf8)
        JSON.appendString(call.name, to: &content)
        if let dispatch = call.dispatch {
            content.append(contentsOf: ",\"dispatch\":\(dispatch.number)".utf8)
        }
        for (field, text) in [
            ("description", call.description), ("file", String(describing: call.file)),
            ("function", String(describing: call.function)),
        ] {
            content.append(contentsOf: ",\"\(field)\":".utf8)
            JSON.appendString(text, to: &content)
        }
        content.append(contentsOf: ",\"line\":\(call.line)".utf8)
        more(&content)
        content.append(UInt8(ascii: "}"))
        record(.note(kind, content, isOfSuccess: isOfSuccess))
    }

    private func append(_ error: (any Error)?, to out: inout [UInt8]) {
        guard let error else { return }
        out.append(contentsOf: ",\"error\":".utf8)
        JSON.appendString(String(describing: error), to: &out)
    }

    /// Closes the object; a value that has no JSON is left out.
    private func appendValue(_ field: String, _ value: Any, to out: inout [UInt8]) {
        if let value = value as? any Encodable {
            out.append(contentsOf: ",\"\(field)\":".utf8)
            session.append(value, "a part of the state", to: &out)
        }
        out.append(UInt8(ascii: "}"))
    }
}

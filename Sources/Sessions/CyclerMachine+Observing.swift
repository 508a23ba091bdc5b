internal import Feeds
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

    // MARK: Notes

    func willDispatch(_ call: CyclerCall) { recordCall(.willDispatch, call) }

    func didDispatch(_ call: CyclerCall, error: (any Error)?) {
        recordCall(.didDispatch, call) { error?.appendField(to: &$0) }
    }

    func willMutate(_ call: CyclerCall) { recordCall(.willMutate, call) }

    func didMutate(_ call: CyclerCall, outcome: CommitOutcome) {
        recordCall(.didMutate, call, isOfSuccess: outcome.isCommitted) { outcome.append(to: &$0) }
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

    func didEmit<Emitted: Sendable>(_ activity: Emitted, _ call: CyclerCall) {
        recordCall(.didEmit, call, isOfSuccess: true)
    }

    func didDrop(_ dropped: DroppedCall, _ call: CyclerCall) {
        recordCall(.didDrop, call) {
            $0.append(contentsOf: ",\"dropped\":\"\(dropped.rawValue)\"".utf8)
        }
    }

    /// - Parameter more: appends further fields.
    private func recordCall(
        _ kind: ActionLogLine.Kind, _ call: CyclerCall, isOfSuccess: Bool = false,
        _ more: (inout [UInt8]) -> Void = { _ in }
    ) {
        guard session.keepsNotes else { return }
        var content: [UInt8] = []
        call.appendOpen(to: &content)
        more(&content)
        content.append(UInt8(ascii: "}"))
        record(.note(kind, content, isOfSuccess: isOfSuccess))
    }

    /// Appends the value's field, unless its type is not `Encodable`, and closes the object.
    private func appendValue(_ field: String, _ value: Any, to out: inout [UInt8]) {
        if let value = value as? any Encodable {
            out.append(contentsOf: ",\"\(field)\":".utf8)
            session.append(value, "a part of the state", to: &out)
        }
        out.append(UInt8(ascii: "}"))
    }
}

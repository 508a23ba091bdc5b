package import JSONCoding
internal import Reactors
internal import Storage

// The stub of a session, for clients that are developed without its reactor.
extension Session {
    /// Switches the stub, injects a state, or both: `{"enabled":true}`, `{"state":{…}}`. The answer
    /// is what ``readStub(for:)`` says then.
    package func putStub(_ body: [UInt8], for token: UInt64) throws(StubRefusal) {
        guard case .awake(let machine) = life else { return answer(content(absence), token) }
        // The shown state may change without a record.
        table.shown = nil
        try machine.changeStub(StubChange(body))
        if attempt.hasSettled { answerSettled() }
        readStub(for: token)
    }

    /// `{"enabled":…,"actions":[…]}`: what was recorded since the stub was switched on last.
    package func readStub(for token: UInt64) {
        guard case .awake(let machine) = life else { return answer(content(absence), token) }
        var body: [UInt8] = []
        machine.encodeStub(to: &body)
        answer(content(.stub(body)), token)
    }

    /// Appends `{"enabled":…,"actions":[…]}` and a line break.
    func appendStub(
        _ isEnabled: Bool, _ actions: [some Encodable], to out: inout [UInt8]
    ) {
        out.append(contentsOf: "{\"enabled\":\(isEnabled),\"actions\":[".utf8)
        for (index, action) in actions.enumerated() {
            if index > 0 { out.append(UInt8(ascii: ",")) }
            append(action, "an action", to: &out)
        }
        out.append(contentsOf: "]}\n".utf8)
    }

    /// A version that no mutation made: another state is shown. Its record has no content.
    func recordReplacement(
        _ lookAtPulses: () -> Void, _ encodeState: (inout [UInt8]) -> Void
    ) {
        beginRecord(.mutation)
        lookAtPulses()
        guard wantsStates else { return }
        var encoded: [UInt8] = []
        encodeState(&encoded)
        record(.state, encoded)
    }
}

/// Why a stub was not changed; nothing of the request happened.
package enum StubRefusal: Error, Sendable {
    case json(JSONRefusal)
    /// A state can be injected into a stub alone.
    case notStubbed
}

/// The change to a stub that a request asks for.
package struct StubChange {
    var isEnabled: Bool?
    /// As JSON.
    var state: [UInt8]?

    /// Whether what is to be shown can be shown.
    func check(isStubbed: Bool) throws(StubRefusal) {
        guard state == nil || (isEnabled ?? isStubbed) else { throw .notStubbed }
    }

    init(_ body: [UInt8]) throws(StubRefusal) {
        struct Body: Decodable {
            var enabled: Bool?
            var state: JSONValue?
        }
        do {
            let read = try JSON.decode(Body.self, from: body)
            isEnabled = read.enabled
            if read.state != nil, let pointer = try? JSONPointer("/state") {
                state = JSON.slice(pointer, of: body).map { Array(body[$0]) }
            }
        } catch {
            throw .json(error)
        }
        guard isEnabled != nil || state != nil else {
            throw .json(.mismatch(path: "", reason: "neither enabled nor state is there"))
        }
    }
}

extension PulseRecorder where State: Decodable {
    /// Reads a state that is to be shown. A pulse that the JSON names was assigned; a decoded one
    /// counts as never assigned.
    func decodeInjected(_ bytes: [UInt8]) throws(StubRefusal) -> State {
        do {
            var state = try JSON.decode(State.self, from: bytes)
            // Past the shown state's counts, so that it is an assignment of the same lineage or
            // another: either way one event.
            countAssignments(in: &state, of: bytes)
            return state
        } catch {
            throw .json(error.under("/state"))
        }
    }
}

extension JSONRefusal {
    /// The same for a document of which this one was a part.
    fileprivate func under(_ place: String) -> JSONRefusal {
        switch self {
        case .malformed: self
        case .mismatch(let path, let reason): .mismatch(path: place + path, reason: reason)
        }
    }
}

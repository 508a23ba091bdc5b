package import JSONCoding

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

/// Why a stub was not changed; nothing of the request happened.
package enum StubRefusal: Error, Sendable {
    case json(JSONRefusal)
    /// A state can be injected into a stub alone.
    case notStubbed
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

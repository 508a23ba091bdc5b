package import JSONCoding

/// A requested change of a stub.
package struct StubChange {
    var isEnabled: Bool?
    /// The state to show, as JSON.
    var state: [UInt8]?

    /// Throws if a state is injected and the stub is not enabled.
    func check(isStubbed: Bool) throws(StubRefusal) {
        guard state == nil || (isEnabled ?? isStubbed) else { throw .notStubbed }
    }

    /// Whether the body does nothing but enable the reactor again.
    package static func onlyDisables(_ body: [UInt8]) -> Bool {
        guard let change = try? StubChange(body) else { return false }
        return change.isEnabled == false && change.state == nil
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
            throw .json(.mismatch(path: "", reason: "it has neither enabled nor state"))
        }
    }
}

/// Why a stub was not changed. Nothing of the request was carried out.
package enum StubRefusal: Error, Sendable {
    case json(JSONRefusal)
    /// A state can only be injected while the stub is enabled.
    case notStubbed
    /// The state can be decoded, but not encoded: it could not be shown.
    case notEncodable(JSONEncodingFailure)
    /// The state has more bytes of JSON than a session's state may have.
    case stateTooLarge(limit: Int)
}

extension PulseRecorder where State: Codable {
    /// Decodes an injected state. A decoded pulse counts as never assigned, so each pulse that the
    /// JSON has is then counted as assigned.
    ///
    /// - Parameter limitBytes: the limit of a session's state.
    func decodeInjected(_ bytes: [UInt8], limitBytes: Int) throws(StubRefusal) -> State {
        var state: State
        do {
            state = try JSON.decode(State.self, from: bytes)
        } catch {
            throw .json(error.under("/state"))
        }
        // A type may decode a value that it cannot encode, and no attempt takes a stub back.
        var encoded: [UInt8] = []
        do {
            try JSON.encode(state, into: &encoded)
        } catch {
            throw .notEncodable(error)
        }
        guard encoded.count <= limitBytes else { throw .stateTooLarge(limit: limitBytes) }
        // The counts exceed those of the shown state, so that each is exactly one new assignment,
        // whether or not the two states have the same origin.
        countAssignments(in: &state, of: bytes)
        return state
    }
}

extension JSONRefusal {
    /// The refusal for a document that has this one as a part.
    fileprivate func under(_ place: String) -> JSONRefusal {
        switch self {
        case .malformed: self
        case .mismatch(let path, let reason): .mismatch(path: place + path, reason: reason)
        }
    }
}

package import JSONCoding
internal import Reactors

// The stub of a session, for those who work against it without its reactor.
extension Session {
    /// Switches the stub, injects a state, or both: `{"enabled":true}`, `{"state":{…}}`. The answer
    /// is what ``readStub(for:)`` says then.
    package func putStub(_ body: [UInt8], for token: UInt64) throws(StubRefusal) {
        guard life == .running else { return answer(content(.gone), token) }
        guard let stub = machine as? any StubbedMachine else { throw .unavailable }
        try stub.changeStub(StubChange(body))
        if mayHaveSettled { answerSettled() }
        try readStub(for: token)
    }

    /// `{"enabled":…,"actions":[…]}`: what was recorded since the stub was switched on last.
    package func readStub(for token: UInt64) throws(StubRefusal) {
        guard life == .running else { return answer(content(.gone), token) }
        guard let stub = machine as? any StubbedMachine else { throw .unavailable }
        var body: [UInt8] = []
        stub.encodeStub(to: &body)
        answer(content(.stub(body)), token)
    }
}

/// Why a stub was not changed; nothing of the request happened.
package enum StubRefusal: Error, Sendable {
    case json(JSONRefusal)
    /// A state can be injected into a stub alone.
    case notStubbed
    /// This session's reactor can't be stubbed: it is a Cycler.
    case unavailable
}

/// What a request wants of a stub.
struct StubChange {
    var isEnabled: Bool?
    /// As JSON.
    var state: [UInt8]?

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

/// A machine that can show states of its clients instead of its reactor's.
protocol StubbedMachine: AnyObject {
    func changeStub(_ change: StubChange) throws(StubRefusal)

    /// Appends `{"enabled":…,"actions":[…]}`.
    func encodeStub(to out: inout [UInt8])
}

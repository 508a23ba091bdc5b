internal import Feeds
internal import JSONCoding
internal import Reactors
internal import Storage

// The stub of a session, for clients that are developed without its reactor.
extension Session {
    /// Switches the stub on or off, injects a state, or both: `{"enabled":true}`, `{"state":{…}}`.
    /// The answer is the same as that of ``readStub(for:)`` afterwards.
    package func putStub(_ body: [UInt8], for token: UInt64) throws(StubRefusal) {
        guard case .awake(let machine) = life else { return answer(content(absence), token) }
        // The shown state may change without a record.
        table.dropShown()
        beginTurn()
        // A stub's state is shown whatever it makes; the next request must not be refused for it.
        defer { _ = takeRefusal() }
        try machine.changeStub(StubChange(body))
        waitForTimer()
        if attempt.hasSettled { answerSettled() }
        readStub(for: token)
    }

    /// Reads `{"enabled":…,"actions":[…]}`: the actions since the stub was last switched on.
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

    /// Records a version that shows another state without a mutation. Its record has no content.
    func recordReplacement(
        _ recordPulses: () -> Void, _ encodeState: (inout [UInt8]) -> Void
    ) {
        beginRecord(.mutation)
        recordPulses()
        guard wantsStates else { return }
        var encoded: [UInt8] = []
        encodeState(&encoded)
        record(.state, encoded)
    }
}

internal import JSONCoding
internal import Storage

/// Rebuilds the state of a Cycler: each record has the whole state.
final class CyclerFold<State: Codable>: StateFold {
    private(set) var state: State
    private(set) var version: UInt64 = 0

    init(_ initial: State, from snapshot: Snapshot?) throws(RecoveryFault) {
        state = initial
        guard let snapshot else { return }
        version = snapshot.version
        state = try Self.read(snapshot.state, at: "the snapshot of version \(version)")
    }

    func apply(_ record: Record) throws(RecoveryFault) {
        state = try Self.read(record.content, at: "the state of version \(record.version)")
        version += 1
    }

    func encodeShown(to out: inout [UInt8]) {
        let start = out.count
        do {
            try JSON.encode(state, into: &out)
        } catch {
            out.removeSubrange(start...)
            out.append(contentsOf: Framing.null)
        }
    }

    func encodeRaw(to out: inout [UInt8]) throws(JSONEncodingFailure) {
        try JSON.encode(state, into: &out)
    }

    private static func read(_ bytes: [UInt8], at place: String) throws(RecoveryFault) -> State {
        do {
            return try JSON.decode(State.self, from: bytes)
        } catch {
            throw RecoveryFault(place: place, reason: error.sentence)
        }
    }
}

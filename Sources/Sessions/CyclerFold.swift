internal import Feeds
internal import JSONCoding
internal import Cyclers
internal import Reactors
internal import Storage

/// Rebuilds the state of a Cycler. Each record contains the whole state.
final class CyclerFold<C: ActionCycler>: StateFold where C.State: Codable {
    private(set) var state: C.State
    private(set) var version: UInt64 = 0
    private(set) var stateVersion = C.stateVersion
    private let initial: C.State
    private let pulses: [PulseField<C.State>]

    init(
        _ initial: C.State, pulses: [PulseField<C.State>], from snapshot: Snapshot?
    ) throws(RecoveryFault) {
        self.initial = initial
        self.pulses = pulses
        state = initial
        guard let snapshot else { return }
        version = snapshot.version
        stateVersion = snapshot.stateVersion
        state = try read(snapshot.state, at: "the snapshot of version \(version)")
    }

    func apply(_ record: HistoryEntry) throws(RecoveryFault) {
        if !record.isReplacement {
            state = try read(record.content, at: "the state of version \(record.version)")
        }
        version += 1
    }

    func encodeShown(to out: inout [UInt8]) throws(JSONEncodingFailure) -> String? {
        try JSON.encode(state, into: &out)
        return nil
    }

    func encodePulses(_ chosen: UInt64, to out: inout [UInt8]) -> String? {
        PulseRecorder(pulses).encode(chosen, of: state, to: &out)
        return nil
    }

    func encodeRaw(to out: inout [UInt8]) throws(JSONEncodingFailure) {
        try JSON.encode(state, into: &out)
    }

    private func read(_ bytes: [UInt8], at place: String) throws(RecoveryFault) -> C.State {
        try SavedBytes(bytes, of: stateVersion, at: place)
            .read(
                C.State.self, presently: C.stateVersion, over: { [initial] in initial },
                migrate: C.migrate(state:))
    }
}

internal import Feeds
internal import JSONCoding
internal import Reactors
internal import Storage

/// Rebuilds the state of one reactor.
///
/// Invariant: mutations after a snapshot were saved with the snapshot's `stateVersion`: a session
/// that wakes with another `stateVersion` saves a new snapshot first.
final class ReactorFold<R: Reactor>: StateFold
where R.Action: Codable, R.Mutation: Codable, R.State: Codable, R.Activity: Encodable {
    private let reactor: R
    private let pulses: [PulseField<R.State>]
    private(set) var state: R.State
    private(set) var version: UInt64
    let stateVersion: Int
    private var hasFailedTransform = false

    /// - Parameter snapshot: the state to begin with; nil: the initial state.
    init(
        _ reactor: R, pulses: [PulseField<R.State>], from snapshot: Snapshot?
    ) throws(RecoveryFault) {
        self.reactor = reactor
        self.pulses = pulses
        guard let snapshot else {
            state = reactor.initialState
            version = 0
            stateVersion = R.stateVersion
            return
        }
        version = snapshot.version
        stateVersion = snapshot.stateVersion
        let place = "the snapshot of version \(version)"
        state = try SavedBytes(snapshot.state, of: stateVersion, at: place)
            .read(
                R.State.self, presently: R.stateVersion, over: { reactor.initialState },
                migrate: R.migrate(state:))
    }

    func apply(_ record: HistoryEntry) throws(RecoveryFault) {
        guard !record.isReplacement else { return version += 1 }
        let place = "the mutation of version \(record.version)"
        let mutation = try SavedBytes(record.content, of: stateVersion, at: place)
            .read(R.Mutation.self, presently: R.stateVersion, migrate: R.migrate(mutation:))
        reactor.reduce(state: &state, mutation: mutation)
        version += 1
    }

    func encodeShown(to out: inout [UInt8]) throws(JSONEncodingFailure) -> String? {
        do {
            try JSON.encode(try reactor.transform(state: state), into: &out)
            return nil
        } catch {
            try JSON.encode(state, into: &out)
            return report(error)
        }
    }

    func encodePulses(_ chosen: UInt64, to out: inout [UInt8]) -> String? {
        var (shown, failure) = (state, String?.none)
        do {
            shown = try reactor.transform(state: state)
        } catch {
            failure = report(error)
        }
        PulseRecorder(pulses).encode(chosen, of: shown, to: &out)
        return failure
    }

    private func report(_ error: any Error) -> String? {
        defer { hasFailedTransform = true }
        return hasFailedTransform ? nil : String(describing: error)
    }

    func encodeRaw(to out: inout [UInt8]) throws(JSONEncodingFailure) {
        try JSON.encode(state, into: &out)
    }
}

/// A saved state or mutation, in the form that its type had when it was saved.
struct SavedBytes: SavedValueDecoder {
    private let bytes: [UInt8]
    private let stateVersion: Int
    private let place: String

    init(_ bytes: [UInt8], of stateVersion: Int, at place: String) {
        self.bytes = bytes
        self.stateVersion = stateVersion
        self.place = place
    }

    /// - Parameters:
    ///   - initial: for a state, the present initial state. The saved state is decoded over it, so
    ///     that a new field gets its initial value (contract §5).
    ///   - migrate: decodes a value of another `stateVersion`.
    func read<Value: Codable>(
        _ type: Value.Type, presently presentVersion: Int, over initial: (() -> Value)? = nil,
        migrate: (SavedValue) throws -> Value
    ) throws(RecoveryFault) -> Value {
        do {
            guard stateVersion != presentVersion else {
                return try JSON.decode(
                    type, stored: bytes, over: initial.map { make in { Self.encoded(make()) } })
            }
            return try migrate(SavedValue(stateVersion: stateVersion, decoder: self))
        } catch let refusal as JSONRefusal {
            throw RecoveryFault(place: place, reason: refusal.sentence)
        } catch {
            throw RecoveryFault(place: place, reason: String(describing: error))
        }
    }

    /// Nil if the initial state has no JSON. The saved state is then decoded by itself.
    private static func encoded(_ initial: some Encodable) -> [UInt8]? {
        var bytes: [UInt8] = []
        do {
            try JSON.encode(initial, into: &bytes)
            return bytes
        } catch {
            return nil
        }
    }

    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        try JSON.decode(type, stored: bytes)
    }
}

extension HistoryEntry {
    /// Whether a stub made the version, not a mutation. The reactor's own state did not change.
    var isReplacement: Bool { kind == .mutation && content.isEmpty }
}

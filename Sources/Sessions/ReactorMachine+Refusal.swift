internal import Feeds
internal import JSONCoding
public import Reactors
internal import Storage

// A value without JSON, or whose JSON cannot be decoded, is rolled back before it is published
// (contract §5). A request is refused as a whole. A mutation of an effect or a source has no
// request that could be refused: it is dropped, and a failure record is written.

/// Which values of a reactor are encoded as they are made.
///
/// Why not all: encoding a large state for each small mutation is expensive. Values of a type that
/// contains neither floating-point numbers nor itself always have JSON
/// (``JSON/alwaysEncodes(_:)``), and are not encoded.
@usableFromInline
struct ReactorChecks: Sendable {
    let state: Bool
    let mutation: Bool
    @usableFromInline
    let any: Bool

    init(state: Bool, mutation: Bool) {
        self.state = state
        self.mutation = mutation
        any = state || mutation
    }

    @usableFromInline
    init(state: any Any.Type, mutation: any Any.Type) {
        self.init(
            state: !JSON.alwaysEncodes(state), mutation: !JSON.alwaysEncodes(mutation))
    }

    /// For a journal that keeps records each mutation is encoded anyway.
    func knowing(keepsRecords: Bool) -> ReactorChecks {
        ReactorChecks(state: state, mutation: mutation && !keepsRecords)
    }

    /// Encodes a value. If it has no JSON, the session's present decision is refused.
    static func check(_ value: some Encodable, _ name: String, in session: Session) {
        let buffers = session.table.buffers
        var scratch = buffers.takeScratch()
        defer { buffers.releaseScratch(scratch) }
        do {
            try JSON.encode(value, into: &scratch, with: &buffers.space)
        } catch {
            session.refuse(.notEncodable(name, error))
        }
    }
}

extension ReactorMachine {
    // MARK: Requests

    /// Rolls back a refused request.
    @usableFromInline
    func takeBackRequest(to mark: AttemptMark, lastTag tag: UInt64) {
        session.takeBack(to: mark)
        session.traces.remove(after: tag)
        lastTag = tag
        core.takeBack(state: removeVersions(after: mark.version), version: mark.version)
    }

    /// Removes refused versions.
    ///
    /// - Returns: the state at `version`.
    private func removeVersions(after version: UInt64) -> R.State {
        guard version < core.version else { return core.state }
        let state = versions.rollBack(to: version, by: reactor)
        lookAgain(at: state)
        return state
    }

    /// A failure was reported when this state was first shown.
    private func lookAgain(at state: R.State) {
        guard !pulses.isEmpty else { return }
        do {
            pulses.look(at: try reactor.transform(state: state))
        } catch {
            pulses.look(at: state)
        }
    }

    // MARK: Mutations of effects and sources

    /// The newest mutation is refused: with its request, or on its own.
    @usableFromInline
    func refuseMutation(of action: ActionTag) {
        guard !session.attempt.isRequest else { return }
        if case .mutation(let mark) = session.attempt.scope {
            session.takeBack(to: mark)
            core.takeBackMutation(state: removeVersions(after: core.version - 1))
        }
        reportRefusal(of: action)
    }

    func reportRefusal(of action: ActionTag) {
        session.attempt.begin(.none)
        guard let refusal = session.takeRefusal() else { return }
        failed(
            ReactorFailure(
                place: action == .none ? .source : .effect, error: refusal, action: action,
                source: session.arrival.source))
    }

    /// Encodes the mutation and the state if their types may have no JSON.
    @usableFromInline
    func check(_ mutation: R.Mutation) {
        guard !session.attempt.isRefused else { return }
        if checks.state { ReactorChecks.check(core.state, "the state", in: session) }
        if checks.mutation { ReactorChecks.check(mutation, "a mutation", in: session) }
    }

    @usableFromInline
    func show(_ encoded: [UInt8]) { session.record(.state, encoded) }
}

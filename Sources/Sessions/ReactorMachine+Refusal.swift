internal import JSONCoding
public import Reactors
internal import Storage

// A value without JSON, or whose JSON cannot be decoded, is rolled back before it is published
// (contract §5). A request is refused as a whole. A mutation of an effect or a source has no caller
// to refuse it to: it is dropped, and a failure record is written.

/// Which values of a reactor are encoded as they are made.
///
/// Why not all: a state is as large as it is, and a mutation may be small. A type that has neither
/// floating-point numbers nor itself within it always has JSON (``JSON/alwaysEncodes(_:)``): of such
/// a one nothing is asked.
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

    /// A journal that keeps records has each mutation encoded anyway.
    func knowing(keepsRecords: Bool) -> ReactorChecks {
        ReactorChecks(state: state, mutation: mutation && !keepsRecords)
    }
}

extension ReactorMachine {
    // MARK: Requests

    /// Nothing of the request has happened.
    @usableFromInline
    func takeBackRequest(to mark: AttemptMark, lastTag tag: UInt64) {
        session.takeBack(to: mark)
        lastTag = tag
        let state = takeBackState(to: mark.version)
        core.takeBack(state: state, version: mark.version)
        effectIDs = core.runningNames
    }

    /// The state at `version`; mutations after it are forgotten.
    private func takeBackState(to version: UInt64) -> R.State {
        guard version < core.version else { return core.state }
        endReplay()
        let state = state(at: version)
        mutations.removeLast(mutations.count - mutationCount(through: version))
        endReplay()
        lookAgain(at: state)
        return state
    }

    /// A look that fails has been reported when this state was shown first.
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
            core.takeBackMutation(state: takeBackState(to: core.version - 1))
        }
        reportRefusal(of: action)
    }

    func reportRefusal(of action: ActionTag) {
        session.attempt.begin(.none)
        guard let refusal = session.takeRefusal() else { return }
        failed(
            ReactorFailure(
                place: action == .none ? .source : .effect, error: refusal, action: action))
    }

    // MARK: Looking

    /// Encodes what was made, where it may have no JSON.
    @usableFromInline
    func check(_ mutation: R.Mutation) {
        guard !session.attempt.isRefused else { return }
        if checks.state { check(core.state, "the state") }
        if checks.mutation { check(mutation, "a mutation") }
    }

    private func check(_ value: some Encodable, _ what: String) {
        let buffers = session.table.buffers
        var scratch = buffers.takeScratch()
        defer { buffers.releaseScratch(scratch) }
        do {
            try JSON.encode(value, into: &scratch, with: &buffers.space)
        } catch {
            session.refuse(.notEncodable(what, error))
        }
    }

    /// The decorated state, for the streams of states. It comes before the mutation's record: a
    /// decoration that has no JSON is a record of its own.
    @usableFromInline
    func encodedState(_ state: R.State) -> [UInt8] {
        var encoded: [UInt8] = []
        if let failure = encode(state, to: &encoded) {
            session.refuse(.notEncodable("the state", failure))
        }
        return encoded
    }

    @usableFromInline
    func show(_ encoded: [UInt8]) { session.record(.state, encoded) }

    /// Appends the state as it is shown; undecorated if its decoration has no JSON, and that is
    /// recorded once per version.
    ///
    /// - Returns: why not even that has any; then nothing is appended.
    func encode(_ shown: R.State, to out: inout [UInt8]) -> JSONEncodingFailure? {
        guard let failure = append(shown, to: &out) else { return nil }
        guard !core.isStub, append(core.state, to: &out) == nil else { return failure }
        if core.notesFailedLook() {
            failed(
                ReactorFailure(
                    place: .transformState,
                    error: ActionRefusal.notEncodable("the decorated state", failure),
                    action: .none))
        }
        return nil
    }

    /// The same for an old version, of which there is no record to be made.
    func encode(
        _ shown: R.State, at version: UInt64, to out: inout [UInt8]
    ) -> JSONEncodingFailure? {
        guard let failure = append(shown, to: &out) else { return nil }
        guard append(state(at: version), to: &out) == nil else { return failure }
        isUndecorated(version, because: "\(ActionRefusal.notEncodable("it", failure))")
        return nil
    }

    func append(_ state: R.State, to out: inout [UInt8]) -> JSONEncodingFailure? {
        do {
            try JSON.encode(state, into: &out)
            return nil
        } catch {
            return error
        }
    }

    /// An old state is shown without its decoration: logged, but not again for older ones.
    func isUndecorated(_ version: UInt64, because error: String) {
        if let undecorated, version <= undecorated { return }
        undecorated = version
        session.report(
            .failed(place: "transformState", error: "version \(version) is shown bare: \(error)"))
    }
}

internal import Cyclers
public import JSONCoding
public import Reactors
package import Storage

/// A reactor or a Cycler at work in a session, its types erased: bytes in, bytes out.
///
/// Every call happens on the session's loop. The machine reports its decisions to the session, which
/// gathers them in the present ``Step``.
package protocol Machine: ActionReceiver, StateHistory, MachineLifecycle, StubControl {}

/// Carries out actions.
package protocol ActionReceiver: AnyObject, SendableMetatype {
    /// Decodes every action of the body, then applies them; nothing is applied if one does not
    /// decode.
    ///
    /// - Returns: what became of them, or nil if all decode and `mayApply` is false: a precondition
    ///   is evaluated after everything else (RFC 9110 §13.2.1).
    func receive(
        _ body: [UInt8], batchLimit: Int, mayApply: Bool, in session: Session
    ) throws(ActionRefusal) -> Receipt?

    /// The number of actions received: the next action has the number after it.
    var lastAction: UInt64 { get }

    /// Whether nothing that these actions started is running.
    func isSettled(_ actions: [ActionTag]) -> Bool

    /// Whether nothing that any action started is running.
    var isQuiet: Bool { get }
}

/// The states of the versions that are kept, and what made them.
package protocol StateHistory: AnyObject {
    /// Appends `{"<pulse>":<value>,…}` of the chosen pulses as they were shown at `version`.
    ///
    /// - Precondition: as for ``encodeState(_:at:in:to:)``.
    func encodePulses(
        _ chosen: UInt64, at version: UInt64, in session: Session, to out: inout [UInt8])

    /// Appends the state as it is now or, if `version` is not nil, as it was then. Where it throws,
    /// nothing is appended.
    ///
    /// - Precondition: the version was not forgotten, and is not after the present one.
    func encodeState(
        _ form: StateForm, at version: UInt64?, in session: Session, to out: inout [UInt8]
    ) throws(JSONEncodingFailure)

    /// Appends the mutation that made this version, as its record has it.
    ///
    /// - Precondition: the version before it was not forgotten.
    func encodeMutation(to version: UInt64, in session: Session, out: inout [UInt8])

    /// Ends a sequence of calls with ascending versions, for which a state is kept between them.
    func endReplay()

    /// Forgets states before this version, now or, unless `atOnce`, in a later batch.
    ///
    /// - Returns: whether they are forgotten.
    func forget(before version: UInt64, atOnce: Bool) -> Bool

    /// Removes every version after this one, and cancels every effect: it may belong to what was
    /// removed.
    func rollBack(to version: UInt64, in session: Session)

    /// Starts to rebuild a state from what is saved, beside the present one.
    func makeFold(from snapshot: Snapshot?) throws(RecoveryFault) -> any StateFold

    /// The reactor's `stateVersion`.
    var stateVersion: Int { get }
}

/// The beginning and the end of a stay in memory.
package protocol MachineLifecycle: AnyObject {
    /// Opens the reactor's sources, once in a life of the session, and applies the values they have
    /// at present before the state is first shown. They are read from when they are launched.
    ///
    /// - Parameter isNew: whether the session has applied none of those before. If it may have, only
    ///   values that change the state are applied.
    func openSources(in session: Session, isNew: Bool) -> [SourceLaunch]

    /// Handles an action that was running when the process ended: it is received again, or a failure
    /// is recorded.
    func recover(_ action: RunningAction, in session: Session)

    /// Cancels everything; nothing follows.
    func end(in session: Session)
}

/// The stub, which takes the reactor's place.
package protocol StubControl: AnyObject {
    /// Takes the reactor out, shows another state, puts the reactor back in.
    func changeStub(_ change: StubChange) throws(StubRefusal)

    /// Appends `{"enabled":…,"actions":[…]}` and a line break.
    func encodeStub(to out: inout [UInt8])
}

extension Machine {
    /// The decoded body, or why it cannot be decoded.
    func decode<T: Decodable>(_ type: T.Type, from body: [UInt8]) throws(ActionRefusal) -> T {
        do {
            return try JSON.decode(type, from: body)
        } catch {
            throw .json(error)
        }
    }
}

/// Begins to read a source that listens already. Letting go of it ends the listening.
package typealias SourceLaunch = @Sendable () -> Task<Void, Never>

/// The result of the actions of one request.
@usableFromInline
package struct Receipt: Sendable {
    /// The places of those that a hook turned down.
    @usableFromInline
    package var rejected: [Int] = []
    @usableFromInline
    package var isBatch = false
    /// Those whose effects are still running.
    @usableFromInline
    package var unsettled: [ActionTag] = []

    @usableFromInline
    init(isBatch: Bool = false) { self.isBatch = isBatch }
}

/// Why a request's actions were not even tried: the peer's fault, or ours for being too busy.
@usableFromInline
package enum ActionRefusal: Error, Sendable {
    case json(JSONRefusal)
    case empty
    case tooMany(limit: Int)
    case overloaded
    /// It failed before it first waited; nothing of it happened.
    case failed(String)
    /// It has something done by the session that it is a part of, and there is none.
    case parentMissing
    /// As many actions of the session's Cycler wait for something as may.
    case tooManyRunning(limit: Int)
    /// The state would be larger than it may be; nothing was applied.
    case stateTooLarge(limit: Int)
    /// Its state, a mutation or an event has no JSON, or none that could be read back; nothing of
    /// it happened.
    case notEncodable(_ what: String, JSONEncodingFailure)
    /// A session remembers as many `Idempotency-Key`s as it may.
    case tooManyKeys(limit: Int)
}

extension ActionRefusal: CustomStringConvertible {
    /// The reason, for a record of a failure.
    @usableFromInline
    package var description: String {
        switch self {
        case .notEncodable(let what, let failure):
            "\(what) can't be written as JSON: \(failure)"
        case .failed(let error): error
        case .json(let refusal): refusal.sentence
        case .parentMissing: "\(CyclerParentMissing())"
        case .stateTooLarge(let limit): "the state would have more than \(limit) bytes of JSON"
        default: "the action was refused"
        }
    }
}

/// Work of an effect that is due once its step is committed.
package enum EffectOrder: Sendable {
    case start(RunID, @Sendable () -> Task<Void, Never>)
    case cancel(RunID)
    /// A waiting action continues.
    case carryOn(@Sendable (Session) -> Void)
}

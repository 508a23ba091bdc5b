internal import Cyclers
internal import Feeds
public import JSONCoding
public import Reactors
package import Storage

/// Runs the reactor or the Cycler of a session, with its types erased: bytes in, bytes out.
///
/// Every call happens on the session's loop. The machine reports its decisions to the session,
/// which gathers them in the present ``Step``.
package protocol Machine: ActionReceiver, StateHistory, MachineLifecycle, StubControl {}

/// Receives actions.
package protocol ActionReceiver: AnyObject, SendableMetatype {
    /// Decodes every action of the body, then applies them. If one cannot be decoded, none is
    /// applied.
    ///
    /// - Returns: the result; nil if all can be decoded and `mayApply` is false: a precondition is
    ///   evaluated after everything else (RFC 9110 §13.2.1).
    func receive(
        _ body: JSONBody, batchLimit: Int, mayApply: Bool, in session: Session
    ) throws(ActionRefusal) -> Receipt?

    /// The number of actions received: the next action has the number after it.
    var lastAction: UInt64 { get }

    /// Whether no effect of these actions is running.
    func isSettled(_ actions: [ActionTag]) -> Bool

    /// Whether no effect is running, and the session is not stubbed.
    var isQuiet: Bool { get }

    /// Whether an effect is running. A pause between two attempts does not count.
    var hasRunningEffects: Bool { get }

    /// The running effects, the oldest first.
    func runningEffects(in session: Session) -> [SessionRuntime.Effect]
}

/// The states of the kept versions, and the mutations that made them.
package protocol StateHistory: AnyObject {
    /// Appends `{"<pulse>":<value>,…}`: the chosen pulses as they were shown at `version`.
    ///
    /// - Precondition: as for ``encodeState(_:at:in:to:)``.
    func encodePulses(
        _ chosen: UInt64, at version: UInt64, in session: Session, to out: inout [UInt8])

    /// Appends the state at a version; nil: the present one. If it throws, nothing is appended.
    ///
    /// - Precondition: the version was not forgotten, and is not after the present one.
    func encodeState(
        _ form: StateForm, at version: UInt64?, in session: Session, to out: inout [UInt8]
    ) throws(JSONEncodingFailure)

    /// Appends the mutation that made this version, as it is in the version's record.
    ///
    /// - Precondition: the version before it was not forgotten.
    func encodeMutation(to version: UInt64, in session: Session, out: inout [UInt8])

    /// Ends a sequence of calls with ascending versions. Between them the machine keeps the last
    /// state.
    func endReplay()

    /// Forgets states before this version: now, or, unless `atOnce`, in a later batch.
    ///
    /// - Returns: whether the states are forgotten.
    func forget(before version: UInt64, atOnce: Bool) -> Bool

    /// Removes every version after this one, and cancels every effect: its action may belong to a
    /// removed version.
    func rollBack(to version: UInt64, in session: Session)

    /// The reactor's `stateVersion`.
    var stateVersion: Int { get }

    /// The tags of the present state. While a stub replaces the reactor, that is the reactor's own.
    var tags: Tags { get }
}

/// The beginning and the end of a machine.
package protocol MachineLifecycle: AnyObject {
    /// Opens the reactor's sources, once per machine, and applies their present values before the
    /// state is first shown. Each source is read from when its launch is called.
    ///
    /// - Parameter isNew: whether the session is new. If not, it may have applied these values
    ///   before, and only values that change the state are applied.
    func openSources(in session: Session, isNew: Bool) -> [SourceLaunch]

    /// Handles an action that was running when the process ended: it is received again, or a
    /// failure is recorded.
    func recover(_ action: RunningAction, in session: Session)

    /// Receives the action of a timer that has been removed.
    func fire(_ timer: SessionTimer)

    /// Cancels every effect. No call follows.
    func end(in session: Session)
}

/// The stub, which replaces the reactor.
package protocol StubControl: AnyObject {
    /// Removes the reactor, shows another state, or restores the reactor.
    func changeStub(_ change: StubChange) throws(StubRefusal)

    var isStubbed: Bool { get }

    /// Appends `{"enabled":…,"actions":[…]}` and a line break.
    func encodeStub(to out: inout [UInt8])
}

extension Machine {
    package var hasRunningEffects: Bool { !isQuiet && !isStubbed }

    /// Decodes a body.
    func decode<T: Decodable>(_ type: T.Type, from body: JSONBody) throws(ActionRefusal) -> T {
        do {
            return try JSON.decode(type, from: body)
        } catch {
            throw .json(error)
        }
    }
}

/// A source that listens already. Releasing it ends the listening.
package struct SourceLaunch: Sendable {
    let name: String
    /// Begins to read the source.
    let begin: @Sendable () -> Task<Void, Never>
}

/// The result of the actions of one request.
@usableFromInline
package struct Receipt: Sendable {
    /// The indices of rejected actions.
    @usableFromInline
    package var rejected: [Int] = []
    /// The errors of hooks that rejected actions, and of synchronous parts of effects, in the order
    /// of the actions.
    var failures: [ActionFailure] = []
    @usableFromInline
    package var isBatch = false
    /// The actions whose effects are running.
    @usableFromInline
    package var unsettled: [ActionTag] = []

    @usableFromInline
    init(isBatch: Bool = false) { self.isBatch = isBatch }
}

/// Why an action of a request was rejected, or why its effect failed before its first wait.
struct ActionFailure: Sendable {
    /// The index of the action in its request.
    let index: Int
    let error: String
    /// Set if a Cycler refuses one action of a batch.
    let refusal: Refusal?

    init(index: Int, error: any Error) {
        self.index = index
        self.error = Refusal.cut(String(describing: error))
        refusal = error as? Refusal
    }

    // Why a limit: an answer may be stored for a day. It has only the texts of the first failures
    // of a request, each cut like a refusal.
    static let limit = 16
}

/// Why a request's actions were refused as a whole. They changed nothing.
@usableFromInline
package enum ActionRefusal: Error, Sendable {
    case json(JSONRefusal)
    /// The reactor refuses an action. The index names it if the request is a batch.
    case refused(Refusal, at: Int?)
    /// The client may not send one of the actions.
    case forbidden
    case empty
    case tooMany(limit: Int)
    case overloaded
    /// A Cycler's action threw this error before it first waited.
    case failed(String)
    /// The action needs the parent of its Cycler, and the parent's session does not exist.
    case parentMissing
    /// The maximal number of actions of the session's Cycler wait for something.
    case tooManyRunning(limit: Int)
    /// The state would exceed the limit.
    case stateTooLarge(limit: Int)
    /// The records, pulses and activities would exceed the limit of one turn.
    case tooMuchOutput(limit: Int)
    /// The state, a mutation or an event has no JSON, or none that can be decoded again.
    case notEncodable(_ what: String, JSONEncodingFailure)
    /// The session has the maximal number of `Idempotency-Key`s.
    case tooManyKeys
}

extension ActionRefusal {
    /// Whether the same request may be accepted in another state.
    var isByState: Bool {
        switch self {
        case .refused, .failed, .parentMissing, .stateTooLarge, .tooMuchOutput, .notEncodable: true
        case .json, .forbidden, .empty, .tooMany, .overloaded, .tooManyRunning, .tooManyKeys: false
        }
    }
}

extension ActionRefusal: CustomStringConvertible {
    /// The reason, for a failure's record.
    @usableFromInline
    package var description: String {
        switch self {
        case .notEncodable(let what, let failure):
            "\(what) can't be written as JSON: \(failure)"
        case .refused(let refusal, _): refusal.description
        case .failed(let error): error
        case .json(let refusal): refusal.sentence
        case .parentMissing: "\(CyclerParentMissing())"
        case .tooMuchOutput(let limit): "one turn would make more than \(limit) bytes of records"
        case .stateTooLarge(let limit): "the state would have more than \(limit) bytes of JSON"
        default: "the action was refused"
        }
    }
}

/// Work of an effect that is done when its step is committed.
package enum EffectOrder: Sendable {
    case start(RunID, @Sendable () -> Task<Void, Never>)
    case cancel(RunID)
    /// A waiting action continues.
    case carryOn(@Sendable (Session) -> Void)
}

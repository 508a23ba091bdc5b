internal import Reactors

/// The way from a task back to its session's loop. It names the session and does not hold it.
///
/// Invariant: it leads to one incarnation. A task may outlive that, if it is deaf to its
/// cancellation, and numbers of steps begin anew in the next.
struct SessionMailbox<M: Machine>: Sendable {
    private let id: SessionID
    private let incarnation: UInt64
    private let hop: LoopServices.Hop

    init(_ session: Session) {
        id = session.id
        incarnation = session.incarnation
        hop = session.table.services.hop
    }

    /// Waits until what the closure did is committed. That is the bound on how far a task can run
    /// ahead of its session.
    ///
    /// - Parameter action: whose effect it is; none: a source's.
    private func enter(
        for action: ActionTag, _ act: @escaping @Sendable (M) -> Bool
    ) async -> Bool {
        await withCheckedContinuation { continuation in
            let isTaken = hop { table in
                guard let session = table.session(id, incarnation) else {
                    return continuation.resume(returning: false)
                }
                guard session.perform(for: action, act) else {
                    return continuation.resume(returning: false)
                }
                session.answer(.applied(continuation))
            }
            if !isTaken { continuation.resume(returning: false) }
        }
    }

    private func report(
        isSource: Bool = false, for action: ActionTag, _ act: @escaping @Sendable (M) -> Void
    ) {
        _ = hop { table in
            guard let session = table.session(id, incarnation) else { return }
            if isSource { session.tasks.endSource() }
            _ = session.perform(for: action) { (machine: M) in
                act(machine)
                return true
            }
        }
    }
}

extension SessionMailbox {
    /// Runs a step of an effect and reports its end, once, whichever way it ends.
    func task<R>(
        for run: EffectRun<R>, clock: any Clock<Duration>
    ) -> Task<Void, Never> where M == ReactorMachine<R> {
        Task {
            let sink = Sink<R.Mutation, R.Activity>(
                clock: clock,
                send: { mutation in await enter(for: run.action) { $0.receive(mutation, from: run) }
                },
                emit: { activity in
                    await enter(for: run.action) { $0.receive(activity, from: run) }
                })
            do {
                try await run.work(sink)
                report(for: run.action) { $0.ended(run, failure: nil) }
            } catch {
                report(for: run.action) { $0.ended(run, failure: error) }
            }
        }
    }
}

/// A machine that streams from outside bring something to.
protocol SourcedMachine: Machine {
    associatedtype Action: Sendable
    associatedtype Mutation: Sendable

    func receive(_ element: ReactorSource<Action, Mutation>.Element)

    /// A source's stream is over.
    func ended(_ source: ReactorSource<Action, Mutation>, failure: (any Error)?)
}

extension SourcedMachine {
    /// Opens sources and takes what they have at present.
    ///
    /// - Parameter takes: whether to take an element.
    func open(
        _ sources: [ReactorSource<Action, Mutation>], in session: Session,
        where takes: (ReactorSource<Action, Mutation>.Element) -> Bool
    ) -> [SourceLaunch] {
        // All of them listen before the first element is taken.
        let openings = sources.map { ($0, $0.open(session.table.services.topics)) }
        for (_, opening) in openings {
            if let present = opening.present, takes(present) { receive(present) }
        }
        let mailbox = SessionMailbox<Self>(session)
        return openings.map { source, opening in
            {
                Task {
                    do {
                        try await opening.read { element in await mailbox.receive(element) }
                        mailbox.ended(source, failure: nil)
                    } catch {
                        mailbox.ended(source, failure: error)
                    }
                }
            }
        }
    }
}

extension SessionMailbox where M: SourcedMachine {
    /// Brings in what a source gave; false once the session is gone. A commit that fails loses
    /// the element and not the source.
    func receive(_ element: ReactorSource<M.Action, M.Mutation>.Element) async -> Bool {
        let isTaken = await enter(for: .none) { machine in
            machine.receive(element)
            return true
        }
        return isTaken ? true : await sessionExists()
    }

    private func sessionExists() async -> Bool {
        await withCheckedContinuation { continuation in
            let isTaken = hop { table in
                continuation.resume(returning: table.session(id, incarnation) != nil)
            }
            if !isTaken { continuation.resume(returning: false) }
        }
    }

    func ended(_ source: ReactorSource<M.Action, M.Mutation>, failure: (any Error)?) {
        report(isSource: true, for: .none) { $0.ended(source, failure: failure) }
    }
}

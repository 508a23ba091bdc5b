internal import Feeds
internal import Reactors

/// Delivers the reports of a task to its session, on the session's loop. It contains the session's
/// id and does not retain the session.
///
/// Invariant: it reaches one incarnation only. A task that ignores its cancellation may outlive the
/// incarnation, and the next one counts its steps from 1 again.
struct SessionMailbox<M: Machine>: Sendable {
    private let id: SessionID
    private let incarnation: UInt64
    private let hop: LoopServices.Hop
    /// A part of the keys of steps (`Sink.key`).
    private let generation: Generation

    init(_ session: Session) {
        generation = session.generation
        id = session.id
        incarnation = session.incarnation
        hop = session.table.services.hop
    }

    /// Waits until the closure's decisions are committed. This bounds how far a task can run ahead
    /// of its session.
    ///
    /// - Parameters:
    ///   - action: the action whose effect the task is; none for a source.
    ///   - read: how far a source has read a topic.
    private func enter(
        for action: ActionTag, _ read: TopicRead? = nil, _ act: @escaping @Sendable (M) -> Bool
    ) async -> Bool {
        await withCheckedContinuation { continuation in
            let isTaken = hop { table in
                guard let session = table.session(id, incarnation) else {
                    return continuation.resume(returning: false)
                }
                guard session.perform(for: action, act) else {
                    return continuation.resume(returning: false)
                }
                if let read { session.recordRead(read.reader, read.place) }
                session.answer(.applied(continuation))
            }
            if !isTaken { continuation.resume(returning: false) }
        }
    }

    /// - Parameter source: the name of the source that has ended; nil for a step of an effect.
    private func report(
        endOf source: String? = nil, for action: ActionTag, _ act: @escaping @Sendable (M) -> Void
    ) {
        _ = hop { table in
            guard let session = table.session(id, incarnation) else { return }
            if let source { session.tasks.endSource(source) }
            _ = session.perform(for: action) { (machine: M) in
                act(machine)
                return true
            }
        }
    }
}

extension SessionMailbox {
    /// Runs a step of an effect, and reports its end or failure once.
    ///
    /// - Parameter traced: Nil if its request is not traced.
    func task<R>(
        for run: EffectRun<R>, clock: any Clock<Duration>, _ traced: (any TracedWork)?
    ) -> Task<Void, Never> where M == ReactorMachine<R> {
        Task {
            let sink = Sink<R.Mutation, R.Activity>(
                clock: clock,
                step: StepName(
                    session: "\(id.text).\(generation.text)", action: run.action, step: run.step),
                send: { mutation in await enter(for: run.action) { $0.receive(mutation, from: run) }
                },
                emit: { activity in
                    await enter(for: run.action) { $0.receive(activity, from: run) }
                })
            do {
                try await run.work(sink)
                traced?.end(nil)
                report(for: run.action) { $0.ended(run, failure: nil) }
            } catch {
                traced?.end(error)
                report(for: run.action) { $0.ended(run, failure: error) }
            }
        }
    }
}

extension SessionMailbox where M: TypedMachine {
    /// Delivers an element of a source; false once the session is gone. A failed commit loses the
    /// element, but the source stays open. (If the journal can restore the session, it leaves
    /// memory instead. When it is loaded again, it reads its topics again.)
    ///
    /// - Parameters:
    ///   - element: nil if only the place has changed.
    ///   - source: the source of the element.
    ///   - read: the place of the element, if it is the value of a topic with a session.
    func receive(
        _ element: Result<ReactorSource<M.Action, M.Mutation>.Element, any Error>?,
        of source: ReactorSource<M.Action, M.Mutation>, _ read: TopicRead?
    ) async -> Bool {
        let isTaken = await enter(for: .none, read) { machine in
            switch element {
            case .success(let element)?: machine.receive(element, of: source)
            case .failure(let error)?:
                guard let read else { break }
                machine.session.report(
                    .undecodable(topic: source.name, read.place.number, error))
            case nil: break
            }
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
        report(endOf: source.name, for: .none) { $0.ended(source, failure: failure) }
    }
}

/// The place up to which a source has read a topic.
struct TopicRead: Sendable {
    /// The name of the source among those that read topics.
    let reader: String
    let place: TopicPosition
}

internal import Reactors

/// The way from a task back to its session's loop. It names the session and does not hold it.
struct Door<R: Reactor>: Sendable
where R.Action: Codable, R.Mutation: Codable, R.State: Codable, R.Activity: Encodable {
    private let id: SessionID
    private let generation: Generation
    private let hop: SessionTable.Hop

    init(_ session: Session) {
        id = session.id
        generation = session.generation
        hop = session.table.hop
    }

    /// Runs a step of an effect and reports its end, once, whichever way it ends.
    func task(for run: EffectRun<R>, clock: any Clock<Duration>) -> Task<Void, Never> {
        Task {
            let sink = Sink<R.Mutation, R.Activity>(
                clock: clock,
                send: { mutation in await enter { $0.take(mutation, from: run) } },
                emit: { activity in await enter { $0.take(activity, from: run) } })
            do {
                try await run.work(sink)
                report { $0.ended(run, failure: nil) }
            } catch {
                report { $0.ended(run, failure: error) }
            }
        }
    }

    /// Brings in what a source gave; false once the session is gone. A commit that fails loses
    /// the element and not the source.
    func take(_ element: R.Source.Element) async -> Bool {
        let isTaken = await enter { machine in
            machine.take(element)
            return true
        }
        return isTaken ? true : await leadsSomewhere()
    }

    private func leadsSomewhere() async -> Bool {
        await withCheckedContinuation { continuation in
            hop { table in
                continuation.resume(returning: table.session(id, generation) != nil)
            }
        }
    }

    /// A source's stream is over.
    func ended(_ source: R.Source, failure: (any Error)?) {
        report { $0.ended(source, failure: failure) }
    }

    /// Waits until what the closure did is committed. That is the bound on how far a task can run
    /// ahead of its session.
    private func enter(
        _ act: @escaping @Sendable (ReactorMachine<R>) -> Bool
    ) async -> Bool {
        await withCheckedContinuation { continuation in
            hop { table in
                guard let session = table.session(id, generation) else {
                    return continuation.resume(returning: false)
                }
                guard session.perform(act) else { return continuation.resume(returning: false) }
                session.answer(.applied(continuation))
            }
        }
    }

    private func report(_ act: @escaping @Sendable (ReactorMachine<R>) -> Void) {
        hop { table in
            guard let session = table.session(id, generation) else { return }
            _ = session.perform { (machine: ReactorMachine<R>) in
                act(machine)
                return true
            }
        }
    }
}

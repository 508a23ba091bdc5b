internal import JSONCoding
internal import Reactors
internal import Storage

/// A machine with the type of its actions: the common part of reactors and Cyclers, which opens
/// sources and recovers actions after a restart.
protocol TypedMachine: Machine {
    associatedtype Action: Codable & Sendable
    associatedtype Mutation: Sendable

    var session: Session { get }

    func receive(fromSource mutation: Mutation)

    /// Receives an action that no client has sent.
    ///
    /// - Returns: an error that has no entry in the log yet.
    func receiveAlone(_ action: Action) -> (any Error)?

    /// A source's stream has ended.
    func ended(_ source: ReactorSource<Action, Mutation>, failure: (any Error)?)

    /// The answer of the reactor's or Cycler's own `recovery`, after that many attempts.
    func recovery(of action: Action, after attempts: Int) -> Recovery

    /// Receives an action again that was running or paused when the process ended: now, or after
    /// `time`. If an error has no entry in the log yet, it is recorded for the action.
    func receiveAgain(_ action: Action, _ saved: RunningAction, after time: Duration)
}

// MARK: Sources

extension TypedMachine {
    /// Opens sources and receives their present values.
    ///
    /// - Parameters:
    ///   - isNew: whether the session is new. If not, it may have refused a value before.
    ///   - accepts: whether to receive a present value.
    func open(
        _ sources: [ReactorSource<Action, Mutation>], in session: Session, isNew: Bool,
        where accepts: (ReactorSource<Action, Mutation>.Element) -> Bool
    ) -> [SourceLaunch] {
        // All of them listen before the first element is received.
        let readers = Self.readers(of: sources)
        let openings = sources.map { source in
            guard let open = source.openPresence else {
                return source.open(session.table.services.topics)
            }
            let (present, changes) = session.feed.followPresence()
            return open(present, isNew, changes)
        }
        for (source, (opening, reader)) in zip(sources, zip(openings, readers)) {
            let isRead = reader.map { session.hasRead($0, opening.position) } ?? false
            guard let present = opening.present, !isRead, accepts(present) else { continue }
            session.beginTurn()
            // The place of a topic's value shows that the session has not had it.
            let isKnown = !isNew && opening.position == nil
            receive(present, of: source, recordsRefusal: !isKnown)
        }
        let mailbox = SessionMailbox<Self>(session)
        let history = session.table.topicHistory
        return sources.indices.map { index in
            let (source, opening, reader) = (sources[index], openings[index], readers[index])
            let start = reader.flatMap { name in
                session.start(
                    of: name, at: opening.position, hasPresent: opening.present != nil)
            }
            return SourceLaunch(name: source.name) {
                Task {
                    do {
                        try await opening.read(start, history) { element, place in
                            let read = place.flatMap { place in
                                reader.map { TopicRead(reader: $0, place: place) }
                            }
                            return await mailbox.receive(element, of: source, read)
                        }
                        mailbox.ended(source, failure: nil)
                    } catch {
                        mailbox.ended(source, failure: error)
                    }
                }
            }
        }
    }
}

extension TypedMachine {
    /// Receives an element of a source. Nobody gets an answer, so an error is recorded.
    func receive(
        _ element: ReactorSource<Action, Mutation>.Element,
        of source: ReactorSource<Action, Mutation>, recordsRefusal: Bool = true
    ) {
        switch element {
        case .mutation(let mutation):
            session.arrival.source = source.name
            receive(fromSource: mutation)
            session.arrival.source = nil
        case .action(let action):
            guard let error = receiveAlone(action), recordsRefusal || !(error is Refusal) else {
                return
            }
            log.failed(
                at: .source, String(describing: error), source: source.name, of: .none)
        }
    }

    /// Receives the action of a timer, or one that was running when the process ended. If an error
    /// has no entry in the log yet, it is recorded for `cause`: the action that has set the timer,
    /// or the interrupted one.
    func receiveAlone(_ action: Action, for cause: ActionTag) {
        guard let error = receiveAlone(action) else { return }
        log.failed(at: .effect, String(describing: error), of: cause)
    }

    /// For each source, the name under which a session stores how far the source has read; nil if
    /// the source reads no topic. Two sources of one topic have different names.
    private static func readers(of sources: [ReactorSource<Action, Mutation>]) -> [String?] {
        var seen: [String: Int] = [:]
        return sources.map { source in
            guard let topic = source.topic else { return nil }
            seen[topic, default: 0] += 1
            return seen[topic] == 1 ? topic : "\(topic)\n\(seen[topic] ?? 0)"
        }
    }
}

// MARK: Recovery and timers

extension TypedMachine {
    var log: EffectLog { EffectLog(session: session) }

    func recover(_ saved: RunningAction, in session: Session) {
        var action = saved
        // If another program changed the journal, these may be any numbers. Adding to them must not
        // overflow.
        action.begun = min(max(saved.begun, 0), RunningAction.countLimit)
        action.attempt = min(max(saved.attempt, 1), RunningAction.countLimit)
        do {
            let saved = try JSON.decode(Action.self, stored: action.content)
            if let wait = action.wait {
                return session.runAgain(action) {
                    receiveAgain(saved, action, after: .milliseconds(max(wait, 1)))
                }
            }
            switch recovery(of: saved, after: action.attempt) {
            case .runAgain where action.begun >= RunningAction.beginLimit:
                abandon(action, because: Abandonment.tooOften)
            case .runAgain(let time):
                session.runAgain(action) { receiveAgain(saved, action, after: time) }
            case .abandon:
                abandon(action, because: Abandonment.runningAtEnd)
            }
        } catch {
            abandon(action, because: Abandonment.unreadable(error))
        }
    }

    func fire(_ timer: SessionTimer) {
        let setter = ActionTag(timer.number)
        do {
            receiveAlone(try JSON.decode(Action.self, stored: timer.content), for: setter)
        } catch {
            log.failed(at: .effect, timer.isUnreadable(error), of: setter)
        }
    }

    private func abandon(_ action: RunningAction, because reason: String) {
        session.noteSettled(action.action)
        log.failed(at: .effect, reason, of: ActionTag(action.action))
    }
}

/// Why an action's effects are not run again after a restart.
private enum Abandonment {
    static let runningAtEnd = "abandoned: the server ended while it ran"

    static let tooOften =
        "abandoned: it was begun \(RunningAction.beginLimit) times, and each time the server ended "
        + "while it ran"

    static func unreadable(_ refusal: JSONRefusal) -> String {
        "abandoned: the action can't be read any more: \(refusal.sentence)"
    }
}

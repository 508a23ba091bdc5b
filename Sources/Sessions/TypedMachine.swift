internal import JSONCoding
internal import Reactors
internal import Storage

/// A machine with the type of its actions: the common part of reactors and Cyclers, which opens
/// sources and recovers actions after a restart.
protocol TypedMachine: Machine {
    associatedtype Action: Codable & Sendable
    associatedtype Mutation: Sendable

    var session: Session { get }

    func receive(_ element: ReactorSource<Action, Mutation>.Element)

    /// A source's stream has ended.
    func ended(_ source: ReactorSource<Action, Mutation>, failure: (any Error)?)

    /// The reactor's or Cycler's own `recovery(of:)`.
    func recovery(of action: Action) -> Recovery

    /// Receives an action that was running when the process ended, or that of a timer. An error
    /// that leaves no record of its own is recorded for `cause`: the interrupted action, or the one
    /// that has set the timer.
    func receiveAgain(_ action: Action, for cause: ActionTag)
}

// MARK: Sources

extension TypedMachine {
    /// Opens sources and receives their present values.
    ///
    /// - Parameter accepts: whether to receive a present value.
    func open(
        _ sources: [ReactorSource<Action, Mutation>], in session: Session,
        where accepts: (ReactorSource<Action, Mutation>.Element) -> Bool
    ) -> [SourceLaunch] {
        // All of them listen before the first element is received.
        let readers = Self.readers(of: sources)
        let openings = sources.map { $0.open(session.table.services.topics) }
        for (opening, reader) in zip(openings, readers) {
            let isRead = reader.map { session.hasRead($0, opening.position) } ?? false
            guard let present = opening.present, !isRead, accepts(present) else { continue }
            session.beginTurn()
            receive(present)
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
                            return await mailbox.receive(element, read)
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

    func recover(_ action: RunningAction, in session: Session) {
        session.noteSettled(action.action)
        let tag = ActionTag(action.action)
        do {
            let saved = try JSON.decode(Action.self, stored: action.content)
            switch recovery(of: saved) {
            case .runAgain where action.begun >= RunningAction.beginLimit:
                log.failed(at: .effect, Abandonment.tooOften, of: tag)
            case .runAgain:
                session.runAgain(action) { receiveAgain(saved, for: tag) }
            case .abandon:
                log.failed(at: .effect, Abandonment.runningAtEnd, of: tag)
            }
        } catch {
            log.failed(at: .effect, Abandonment.unreadable(error), of: tag)
        }
    }

    func fire(_ timer: SessionTimer) {
        let setter = ActionTag(timer.number)
        do {
            receiveAgain(try JSON.decode(Action.self, stored: timer.content), for: setter)
        } catch {
            log.failed(at: .effect, Abandonment.timer(timer, error), of: setter)
        }
    }
}

/// Why an action's effects are not run again after a restart.
private enum Abandonment {
    static let runningAtEnd = "abandoned: the server ended while it ran"

    static let tooOften =
        "abandoned: it was begun \(RunningAction.beginLimit) times, and each time the server ended "
        + "while it ran"

    static func timer(_ timer: SessionTimer, _ refusal: JSONRefusal) -> String {
        "the action of the timer \(timer.name.text) can't be read any more: \(refusal.sentence)"
    }

    static func unreadable(_ refusal: JSONRefusal) -> String {
        "abandoned: the action can't be read any more: \(refusal.sentence)"
    }
}

internal import Storage
internal import Synchronization

/// Asks many questions with one statement: those that arrived while the previous statement was
/// under way.
final class QuestionQueue<Question: Sendable, Answer: Sendable>: Sendable {
    /// Returns one answer for each question, in their order.
    typealias Act = @Sendable ([Question], Connection) throws(PostgresFault) -> [Answer]
    private typealias Waiting = (question: Question, answer: ArchiveAnswer<Answer>)

    private struct State {
        var waiting: [Waiting] = []
        var isAsking = false
    }

    private let queue: ConnectionQueue
    private let act: Act
    private let proving: Proving<Answer>?
    private let state = Mutex(State())

    private static var statementLimit: Int { 1_024 }
    /// The maximum number of questions that wait. Further ones are refused: they are a fault of the
    /// callers.
    private static var waitingLimit: Int { 200_000 }
    /// How long a question waits for a lock that another client holds.
    private let lockLimit: Duration
    private let wait: @Sendable (Duration) -> Void

    /// The pause between two attempts. Without it, attempts would follow each other at full speed
    /// in two cases: with a short `lock_timeout`, and during the second in which a
    /// ``ConnectionQueue`` repeats a connection fault.
    private static var pause: Duration { .milliseconds(50) }

    /// - Parameters:
    ///   - proving: Nil: no answer has to be proved.
    ///   - wait: Blocks the queue of the connection.
    init(
        _ queue: ConnectionQueue, lockLimit: Duration, _ proving: Proving<Answer>? = nil,
        wait: @escaping @Sendable (Duration) -> Void = { ConnectionQueue.wait($0) },
        _ act: @escaping Act
    ) {
        self.queue = queue
        self.lockLimit = lockLimit
        self.proving = proving
        self.wait = wait
        self.act = act
    }

    func ask(_ question: Question, _ answer: @escaping ArchiveAnswer<Answer>) {
        let (isFull, starts) = state.withLock { state in
            guard state.waiting.count < Self.waitingLimit else { return (true, false) }
            state.waiting.append((question, answer))
            defer { state.isAsking = true }
            return (false, !state.isAsking)
        }
        if isFull {
            return queue.async {
                answer(
                    .failure(
                        JournalFailure(
                            reason: .unavailable, detail: "PostgreSQL: too many queries wait")))
            }
        }
        if starts { queue.async { [self] in askNext() } }
    }

    private func askNext() {
        let some = state.withLock { state in
            let some = Array(state.waiting.prefix(Self.statementLimit))
            state.waiting.removeFirst(some.count)
            state.isAsking = !some.isEmpty
            return some
        }
        guard !some.isEmpty else { return }
        let start = ContinuousClock.now
        do throws(PostgresFault) {
            let (answers, reading) = try attempt(some.map(\.question), since: start)
            for (one, answer) in zip(some, answers) {
                guard let proving else {
                    one.answer(.success(answer))
                    continue
                }
                proving.answer(answer, reading, one.answer) { [self] answer in
                    ask(one.question, answer)
                }
            }
        } catch {
            for one in some { one.answer(.failure(JournalFailure(error))) }
        }
        queue.async { [self] in askNext() }
    }

    private func attempt(
        _ questions: [Question], since start: ContinuousClock.Instant
    ) throws(PostgresFault) -> (value: [Answer], reading: Reading) {
        while true {
            do throws(PostgresFault) {
                return try queue.read { connection throws(PostgresFault) in
                    try act(questions, connection)
                }
            } catch {
                let isWaiting = ["55P03", "40001", "40P01"].contains(error.state)
                guard isWaiting, ContinuousClock.now - start < lockLimit else { throw error }
                wait(Self.pause)
            }
        }
    }
}

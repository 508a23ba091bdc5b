internal import Cluster
internal import Dispatch
internal import Storage
internal import Synchronization

struct Reading: Sendable {
    /// The history that it has shown.
    var mark: DatabaseMark?
    var answered: ContinuousClock.Instant
    /// The database waits for standbys: it may have shown what no standby has.
    var needsProof: Bool
}

/// Finds out whether a standby has what a read saw (ADR-0075).
///
/// Design: the commit of a visible row is in the log before any commit that is sent later. When
/// that is confirmed, a standby has both. Each commit of this process is such a proof; if none is
/// confirmed yet, this connection makes one for all earlier reads.
final class Proofs: Sendable {
    private let connector: Connector
    private let queue: ConnectionQueue
    private let questions: QuestionQueue<Reading, Bool>

    init(_ connector: Connector) {
        let queue = ConnectionQueue(connector, "proofs")
        (self.connector, self.queue) = (connector, queue)
        questions = QuestionQueue(queue, lockLimit: PostgresJournal.lockLimit) {
            readings, connection throws(PostgresFault) in
            if !readings.allSatisfy(connector.isProved) {
                try Connector.commitMessage(connection)
            }
            let mark = connection.mark
            return readings.map { $0.mark == mark }
        }
    }

    /// Connects if reads have to be proved, and tries a proof: the role may lack the permission.
    func open() throws(PostgresFault) {
        guard connector.database?.isSynchronous == true else { return }
        try queue.sync { () throws(PostgresFault) in
            try queue.run { connection throws(PostgresFault) in
                try Connector.commitMessage(connection)
            }
        }
    }

    var failure: JournalFailure? { queue.failure }

    var areNeeded: Bool { connector.provesReads }

    func look() { queue.look() }

    func close() async { await queue.close() }

    fileprivate func isProved(_ reading: Reading) -> Bool {
        !reading.needsProof || connector.isProved(reading)
    }

    /// Answers once the read is proved: false if another database is believed by now. Fails while
    /// no standby answers.
    fileprivate func prove(_ reading: Reading, _ answer: @escaping ArchiveAnswer<Bool>) {
        questions.ask(reading) { result in
            answer(
                result.mapError { failure in
                    var failure = failure
                    failure.detail =
                        "no standby has confirmed what was read: \(failure.detail)"
                    return failure
                })
        }
    }
}

struct Proving<Answer: Sendable>: Sendable {
    private let proofs: Proofs
    private let isNews: @Sendable (Answer) -> Bool
    private let otherwise: (@Sendable (Answer) -> Answer)?

    /// After this time, the caller gets ``otherwise``. Longer than a slow commit, because each
    /// question needs a commit.
    private static var waitLimit: DispatchTimeInterval { .seconds(2) }

    /// - Parameters:
    ///   - isNews: Whether an answer shows more than was shown before.
    ///   - otherwise: The answer to give while no standby responds; nil if the read then fails.
    init(
        _ proofs: Proofs, otherwise: (@Sendable (Answer) -> Answer)? = nil,
        _ isNews: @escaping @Sendable (Answer) -> Bool
    ) {
        self.proofs = proofs
        self.otherwise = otherwise
        self.isNews = isNews
    }

    /// Gives the answer once it is proved.
    ///
    /// - Parameter again: Reads again, because another database is believed by now.
    func answer(
        _ value: Answer, _ reading: Reading, _ answer: @escaping ArchiveAnswer<Answer>,
        again: @escaping @Sendable (@escaping ArchiveAnswer<Answer>) -> Void
    ) {
        guard isNews(value), !proofs.isProved(reading) else { return answer(.success(value)) }
        let only = FirstAnswer(answer)
        let otherwise = otherwise.map { $0(value) }
        if let otherwise {
            DispatchQueue.global().asyncAfter(deadline: .now() + Self.waitLimit) {
                only.give(.success(otherwise))
            }
        }
        proofs.prove(reading) { result in
            switch result {
            case .success(true): only.give(.success(value))
            case .success(false): again { only.give($0) }
            case .failure(let failure):
                only.give(otherwise.map { .success($0) } ?? .failure(failure))
            }
        }
    }
}

/// Several answers to one question, of which the first counts.
private final class FirstAnswer<Answer: Sendable>: Sendable {
    private let answer: Mutex<ArchiveAnswer<Answer>?>

    init(_ answer: @escaping ArchiveAnswer<Answer>) { self.answer = Mutex(answer) }

    func give(_ result: Result<Answer, JournalFailure>) {
        let answer = self.answer.withLock { answer in
            defer { answer = nil }
            return answer
        }
        answer?(result)
    }
}

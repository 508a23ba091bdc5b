/// One session in the database of the model.
struct ModelDatabase {
    /// A run of records: the key is the position that it continues.
    struct Row {
        var after: Int
        var last: Int
        var batch: Batch
        var marks: [Int]
    }

    /// The node that wrote a row, and the row's number at that node.
    struct Batch: Equatable {
        var node: Int
        var number: Int
    }

    var owner: Int?
    var epoch = 0
    /// Counts the losses of history.
    var era = 1
    /// The era in which the session was last claimed.
    var sessionEra = 1
    var generation = 1
    var rows: [Row] = []
    /// The marks that were acknowledged and are lost.
    var lost: Set<Int> = []
    /// The marks of the rows that were trimmed.
    private var trimmed: [Int] = []

    var end: Int { rows.last?.last ?? 0 }
    var marks: [Int] { trimmed + rows.flatMap(\.marks) }

    mutating func loseRows(_ count: Int) {
        // The oldest row stays: what was trimmed was there for long.
        let count = min(count, rows.count - (trimmed.isEmpty ? 0 : 1))
        guard count > 0 else { return }
        lost.formUnion(rows.suffix(count).flatMap(\.marks))
        rows.removeLast(count)
    }

    /// Removes the oldest row. The newest one stays.
    mutating func trim() {
        guard rows.count > 1 else { return }
        trimmed += rows.removeFirst().marks
    }
}

/// An append on its way. It takes its snapshot of the database at one moment, and
/// commits at another.
final class ModelStatement {
    enum State {
        case sent
        /// It has read the database, and whether the append is let in as far as that shows.
        case read(isLetIn: Bool)
        case committed(Bool)
    }

    let row: ModelDatabase.Row
    /// The epoch that it names; nil: it is sent again, without the fence.
    let epoch: Int?
    /// The era that its node has learnt of.
    let namedEra: Int
    /// The era in which it was sent: its server process does not survive it.
    let era: Int
    var state = State.sent
    /// Its node does not hear the answer.
    var isUnanswered = false

    init(_ row: ModelDatabase.Row, epoch: Int?, namedEra: Int, era: Int) {
        self.row = row
        self.epoch = epoch
        self.namedEra = namedEra
        self.era = era
    }
}

/// A request of a client.
final class ModelRequest {
    enum Outcome {
        case acknowledged, read
        /// Nothing of it was applied.
        case refused
        case unknown, unavailable
    }

    /// The mark that a post adds; nil for a read.
    let mark: Int?
    let begun: Int
    private(set) var ended: Int?
    private(set) var outcome: Outcome?
    private(set) var version = 0
    private(set) var generation = 0

    init(mark: Int?, at time: Int) {
        self.mark = mark
        begun = time
    }

    func end(_ outcome: Outcome, at time: Int, version: Int = 0, generation: Int = 0) {
        guard ended == nil else { return }
        ended = time
        self.outcome = outcome
        self.version = version
        self.generation = generation
    }
}

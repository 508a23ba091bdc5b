internal import Cluster

/// The databases that a process knows: the believed one, its acknowledged commits, and others.
struct DatabaseState {
    var database: Connector.Database?
    var belief = DatabaseBelief()
    /// Whether another era is being committed, or has to begin. A connection may show either.
    var isChanging = false
    private var commits: [CommitPoint] = []
    /// How far the log of ``database`` is acknowledged, by this node or by others that believe it.
    private var heard: Int64 = 0
    /// Other databases with contents that ``database`` lacks, so that another era has to begin.
    /// Before the first connection, all databases that this node has heard of.
    private var others: [DatabaseStanding] = []
    var losses: UInt64 = 0
    var watchers: [@Sendable (UInt64) -> Void] = []
    /// Called when the database changes, or is no longer believed.
    var changed: (@Sendable () -> Void)?
    /// Called when this node begins to doubt.
    var doubts: (@Sendable (String) -> Void)?

    /// When the newest commit was sent that was confirmed at ``database``.
    private var proved: ContinuousClock.Instant?

    /// Twice the number of connections that commit. Of that many commits, at least one began after
    /// all earlier commits had ended. So a database that has all of these commits also has the
    /// earlier ones.
    private static let commitLimit = 44
    private static let otherLimit = 64

    func isPresent(_ connection: Connection) -> Bool {
        !isChanging && belief.sought == nil && database?.mark == connection.mark
    }

    /// - Precondition: ``isPresent(_:)``.
    mutating func acknowledge(_ connection: Connection) {
        guard let (commit, sent) = connection.takeCommit() else { return }
        if commits.count >= Self.commitLimit { commits.removeFirst() }
        commits.append(commit)
        proved = max(proved ?? sent, sent)
    }

    /// Whether a commit was confirmed that was sent after a read of the present database.
    func isProved(_ reading: Reading) -> Bool {
        guard let proved, !isChanging, belief.sought == nil else { return false }
        return database?.mark == reading.mark && proved > reading.answered
    }

    /// How far the log of the database is acknowledged, as far as this node knows.
    var committed: Int64 { max(heard, commits.map(\.position).max() ?? 0) }

    /// Records another database that is not newer. Returns whether another era has to begin.
    mutating func lacks(_ other: DatabaseStanding) -> Bool {
        if let database {
            // The database that is being looked for will decide.
            guard belief.sought == nil else { return false }
            if other.mark == database.mark { heard = max(heard, other.committed) }
            guard database.lineage.lacks(other, as: database.mark) else { return false }
        }
        let isNew = !others.contains { $0.mark == other.mark } && others.count < Self.otherLimit
        if isNew { others.append(other) }
        guard database != nil else { return false }
        isChanging = true
        return isNew
    }

    /// Returns what to compare a found database with. If it is another one, nothing is acknowledged
    /// at the believed one from then on, because the comparison would miss it.
    mutating func beginChange(
        to found: Connector.Database, after last: Connector.Database?
    ) -> Era.Earlier {
        if let database, database.mark != found.mark { isChanging = true }
        // Another connection may have compared it meanwhile.
        let isLast = last != nil && database?.mark == last?.mark
        return Era.Earlier(
            database: last, committed: isLast ? committed : 0, commits: isLast ? commits : [],
            others: others)
    }

    mutating func become(_ found: Connector.Database) {
        if database?.mark != found.mark { (commits, heard, proved) = ([], 0, nil) }
        belief.believe(found.mark)
        database = found
        others.removeAll { !found.lineage.lacks($0, as: found.mark) }
        // If such a database was reported during the change, the next connection begins an era.
        isChanging = !others.isEmpty
    }
}

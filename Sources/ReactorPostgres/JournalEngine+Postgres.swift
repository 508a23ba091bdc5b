public import ReactorHosting
internal import Storage

extension JournalEngine {
    /// A journal in PostgreSQL 15 or later:
    /// `--journal postgres://user@host/database?schema=reactor`.
    ///
    /// ```swift
    /// import ReactorHosting
    /// import ReactorPostgres
    ///
    /// await ReactorServer.main(hosting: […], journals: [.postgres])
    /// ```
    ///
    /// The program needs libpq, to build (`libpq-dev`) and to run (`libpq5`). A build without the
    /// package's trait `PostgreSQL` needs no libpq, and refuses every address.
    public static let postgres = postgres(lease: PostgresJournal.lease)

    /// - Parameter lease: How long a node stays a member without a beat.
    package static func postgres(lease: Duration) -> JournalEngine {
        JournalEngine(
            tools: PostgresTools(), mask: PostgresAddress.masked, fault: PostgresAddress.fault
        ) { (address, retention, member) throws(JournalFailure) in
            try PostgresJournal(
                try PostgresAddress(journal: address), retention: retention, member: member,
                server: number, lease: lease)
        }
    }

    private static let number = UsageLock.newNumber()
}

struct PostgresTools: JournalTools {
    func prepare(_ address: String, isRestored: Bool) throws(JournalFailure) {
        try PostgresContents.prepare(
            try PostgresAddress(journal: address), isRestored: isRestored)
    }

    func visit(_ address: String, _ visitor: any JournalVisitor) throws {
        try PostgresContents(try PostgresAddress(journal: address)).visit(visitor)
    }

    func fill(_ address: String, _ act: (any JournalVisitor) throws -> Void) throws {
        let filler = try PostgresFiller(try PostgresAddress(journal: address))
        try act(filler)
        try filler.finish()
    }

    func problems(of address: String) throws(JournalFailure) -> [String] {
        try PostgresContents(try PostgresAddress(journal: address)).rowProblems()
    }
}

package import Cluster
package import Storage
internal import Synchronization

/// A kind of journal that is a product of its own, for hosts that opt in: `journals: [.postgres]`
/// with `import ReactorPostgres`. A host without it builds and runs without the database's library.
public struct JournalEngine: Sendable {
    /// Opens a journal. `member` is this process in a cluster; nil: no other one uses the journal.
    package let open:
        @Sendable (_ address: String, JournalRetention, _ member: Member?) throws(JournalFailure) ->
            any Journal
    package let tools: any JournalTools
    /// An address without its secrets; nil if it cannot be read, so that their places are unknown.
    package let mask: @Sendable (_ address: String) -> String?
    /// The sentence for an address that cannot be used, without its secrets; nil for any other.
    let fault: @Sendable (_ address: String) -> String?

    package init(
        tools: any JournalTools, mask: @escaping @Sendable (_ address: String) -> String?,
        fault: @escaping @Sendable (_ address: String) -> String?,
        open:
            @escaping @Sendable (
                _ address: String, JournalRetention, _ member: Member?
            ) throws(JournalFailure) -> any Journal
    ) {
        self.tools = tools
        self.mask = mask
        self.fault = fault
        self.open = open
    }

    package static func isAddress(_ text: String) -> Bool {
        text.hasPrefix("postgres://") || text.hasPrefix("postgresql://")
    }

    /// The scheme of a text that was meant as the address of a database, right or wrong; nil
    /// for any other.
    static func scheme(of text: String) -> String? {
        let start = text.prefix { $0 != ":" }.lowercased()
        return ["postgres", "postgresql"].contains(start) ? start : nil
    }

    /// The sentence for a program that has no such engine.
    static let missing = """
        this program has no journal in PostgreSQL: import ReactorPostgres and pass journals: [.postgres] to \
        ReactorServer.main
        """

    static var ofProgram: JournalEngine? {
        get { present.withLock { $0 } }
        set { present.withLock { $0 = newValue } }
    }

    private static let present = Mutex<JournalEngine?>(nil)
}

/// The commands on a journal that is no file.
package protocol JournalTools: Sendable {
    /// Makes the tables, or brings them up to date.
    func prepare(_ address: String, isRestored: Bool) throws(JournalFailure)

    /// Shows the contents, as they are at one moment, to a visitor. A server may be using them.
    ///
    /// - Throws: ``JournalFailure``; errors of the visitor.
    func visit(_ address: String, _ visitor: any JournalVisitor) throws

    /// Calls `act` with a visitor that fills a journal without sessions. If `act` throws, nothing
    /// is there. Throws ``JournalFailure``: also if there is a session; errors of `act`.
    func fill(_ address: String, _ act: (any JournalVisitor) throws -> Void) throws

    /// A sentence for each row that is not what its session needs, besides the contents.
    func problems(of address: String) throws(JournalFailure) -> [String]
}

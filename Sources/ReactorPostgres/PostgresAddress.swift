/// Where a journal is: the address of a database, as libpq reads it, and settings of the journal.
///
/// `postgres://user@host1,host2/database?schema=reactor&durability=on&failover=auto`; all other
/// settings are libpq's. Design: libpq reads the address itself. So hosts, password files,
/// services, certificates and environment variables work as in any program that uses libpq.
package struct PostgresAddress: Sendable, Equatable {
    /// The flushes that a commit waits for.
    package enum Durability: String, Sendable, CaseIterable {
        /// The flush of the log, here and by the synchronous standbys, if there are
        /// any. The default.
        case on
        /// Also until the standbys show it to readers.
        case remoteApply = "remote_apply"
    }

    /// How a new timeline of the database counts, after a standby was promoted.
    package enum Failover: String, Sendable, CaseIterable {
        /// Nothing is lost if commits have waited for a standby; else as with `reset`. The default.
        case auto
        /// Nothing is lost.
        case safe
        /// Acknowledged records may be lost: every session gets another generation.
        case reset
    }

    /// The address for libpq. It may contain a password.
    let connection: String
    package let schema: String
    package let durability: Durability
    package let failover: Failover
    /// The number of connections that write. One process of PostgreSQL uses one
    /// processor. Default: 2.
    package let lanes: Int
    /// Whether a pooler may be in front of the database, which gives each of this server's
    /// connections its own. Any other pooler is refused.
    let hasSessionPooler: Bool

    /// A part of an address that cannot be used.
    package struct Fault: Error, CustomStringConvertible {
        package let description: String
    }

    /// - Throws: ``Fault``: a sentence about the address, without its password.
    package init(_ text: String) throws(Fault) {
        guard Self.isBuilt else {
            throw Fault(
                description: "this program has no journal in PostgreSQL: it was built without the "
                    + "trait PostgreSQL of the package reactor-server")
        }
        guard text.hasPrefix("postgres://") || text.hasPrefix("postgresql://") else {
            throw Fault(description: "the address of a database begins with postgres://")
        }
        guard ConnectionText.isReadable(Self.withoutOwn(text)) else {
            throw Fault(description: ConnectionText.unreadable)
        }
        let parts = text.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        var own: [Substring: String] = [:]
        for item in (parts.count > 1 ? parts[1] : "").split(separator: "&") {
            let pair = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if Self.names.contains(pair[0]) {
                own[pair[0]] = pair.count > 1 ? String(pair[1]) : ""
            }
        }
        connection = Self.withoutOwn(text)
        schema = own["schema"] ?? "reactor"
        guard Schema.isValid(name: schema) else {
            throw Fault(
                description:
                    "schema=\(schema): up to 63 lower case letters, digits and underscores "
                    + "are expected, beginning with no digit")
        }
        durability = try Self.choice("durability", own, .on)
        failover = try Self.choice("failover", own, .auto)
        guard ["session", nil].contains(own["pooler"]) else {
            throw Fault(
                description:
                    "pooler=\(own["pooler"] ?? ""): write pooler=session, or leave it out")
        }
        hasSessionPooler = own["pooler"] != nil
        lanes = own["lanes"].map { Int($0) ?? 0 } ?? 2
        guard Self.lanesRange.contains(lanes) else {
            throw Fault(
                description:
                    "lanes=\(own["lanes"] ?? ""): a number from \(Self.lanesRange.lowerBound) "
                    + "to \(Self.lanesRange.upperBound) is expected")
        }
    }

    /// Whether this program has libpq.
    private static var isBuilt: Bool {
        #if PostgreSQL || Complete
            true
        #else
            false
        #endif
    }

    /// The sentence for an address that cannot be used; nil for any other.
    static func fault(of text: String) -> String? {
        do {
            _ = try PostgresAddress(text)
            return nil
        } catch {
            return error.description
        }
    }

    private static let names: Set<Substring> = [
        "schema", "durability", "failover", "lanes", "pooler",
    ]

    /// The address with libpq's parameters alone.
    static func withoutOwn(_ text: String) -> String {
        let parts = text.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let others = (parts.count > 1 ? parts[1] : "").split(separator: "&").filter { item in
            !names.contains(item.prefix { $0 != "=" })
        }
        return parts[0] + (others.isEmpty ? "" : "?" + others.joined(separator: "&"))
    }

    /// The address without its secrets; nil if libpq cannot read it, and so cannot find them.
    package static func masked(_ text: String) -> String? {
        guard ConnectionText.isReadable(withoutOwn(text)) else { return nil }
        return ConnectionText.masked(text)
    }

    /// More would compete for the processors of the database.
    private static let lanesRange = 1...16

    private static func choice<Choice: RawRepresentable<String> & CaseIterable>(
        _ name: Substring, _ given: [Substring: String], _ standard: Choice
    ) throws(Fault) -> Choice {
        guard let text = given[name] else { return standard }
        guard let choice = Choice(rawValue: text) else {
            let words = Choice.allCases.map(\.rawValue).joined(separator: ", ")
            throw Fault(description: "\(name)=\(text): one of \(words) is expected")
        }
        return choice
    }

    /// For libpq. What the address says comes later, and wins.
    var parameters: [(name: String, value: String)] {
        [
            ("target_session_attrs", "read-write"), ("connect_timeout", "3"),
            ("tcp_user_timeout", "5000"), ("keepalives_idle", "5"), ("keepalives_interval", "2"),
            ("keepalives_count", "3"), ("fallback_application_name", "reactor-server"),
            ("dbname", connection),
        ]
    }
}

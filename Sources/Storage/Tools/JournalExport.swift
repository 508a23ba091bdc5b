internal import GRDB

/// Reads everything in a journal's file: every session with its records, snapshots, stored replies,
/// running actions, timers and tags, and all tombstones. Safe while a server uses the file.
package struct JournalExport: Sendable {
    private let path: String

    package init(_ path: String) { self.path = path }

    /// Shows the contents, as they are at one moment, to a visitor.
    package func visit(_ visitor: any JournalVisitor) throws {
        try JournalFile(path).view { database in
            let walk = try JournalWalk(database)
            try walk.eachSession { try Self.visit($0, walk, visitor) }
            try walk.eachTombstone { try visitor.visit($0, deleted: $1) }
        }
    }

    private static func visit(
        _ session: JournalWalk.Session, _ walk: JournalWalk, _ visitor: any JournalVisitor
    ) throws {
        let stored = session.stored
        var head = session.head
        head.creation.input = try stored.input(walk.database)
        try visitor.visit(head, created: session.created)
        try walk.eachRecord(of: session) { try visitor.visit($0) }
        try walk.eachSnapshot(of: stored) { try visitor.visit($0) }
        try walk.eachAnswer(of: stored) { try visitor.visit($0) }
        for action in try RunningAction.all(of: stored, from: walk.database) {
            try visitor.visit(action)
        }
        for timer in try SessionTimer.all(of: stored, from: walk.database) {
            try visitor.visit(timer)
        }
        if let tags = try SessionTags(ofRow: stored.row, walk.database) { try visitor.visit(tags) }
    }
}

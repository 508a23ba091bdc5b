internal import GRDB

/// Writes a journal as text: every session with its records, snapshots, stored replies and running
/// actions, all tombstones, and an end that marks it as complete. Safe while a server uses the
/// file.
package struct JournalExport: Sendable {
    private let path: String

    package init(_ path: String) { self.path = path }

    /// - Parameter write: receives whole lines, about 64 KiB at a time.
    /// - Throws: ``JournalFileFault``; errors of `write`.
    package func run(
        _ progress: ToolProgress = .silent, write: @escaping ([UInt8]) throws -> Void
    ) throws {
        var output = Output(write: write)
        var counts = LineCounts()
        try JournalFile(path).view { database in
            let walk = try JournalWalk(database)
            try output.append(JournalLine.head)
            try walk.eachSession(progress) { session in
                try Self.export(session, walk, &counts, &output)
            }
            try walk.eachTombstone { id, reactor, generation, deleted in
                var line = JournalLine("tombstone", id)
                line.add("reactor", reactor)
                line.add("generation", generation)
                line.add("deleted", deleted)
                counts.tombstones += 1
                try output.append(line.finished)
            }
        }
        try output.append(JournalLine.end(counts))
        try output.flush()
    }

    private static func export(
        _ session: JournalWalk.Session, _ walk: JournalWalk, _ counts: inout LineCounts,
        _ output: inout Output
    ) throws {
        counts.sessions += 1
        let life = session.life
        var line = JournalLine("session", life.key.session)
        line.add("reactor", life.reactor)
        line.add("generation", life.key.generation)
        line.add("created", session.created)
        if let owner = life.owner { line.add("owner", owner) }
        line.add("keptAfter", life.keptAfter)
        line.add("keptVersion", life.keptVersion)
        try output.append(line.finished)
        try walk.eachRecord(of: session) {
            counts.records += 1
            try output.append(HistoryCodec.line($0))
        }
        try walk.eachSnapshot(of: life) {
            counts.snapshots += 1
            try output.append(JournalLine.snapshot($0))
        }
        try walk.eachAnswer(of: life) {
            counts.answers += 1
            try output.append(JournalLine.answer($0))
        }
        try walk.eachRunning(of: life) {
            counts.running += 1
            try output.append(JournalLine.running($0))
        }
    }

    private struct Output {
        let write: ([UInt8]) throws -> Void
        private var bytes: [UInt8] = []

        init(write: @escaping ([UInt8]) throws -> Void) { self.write = write }

        mutating func append(_ line: [UInt8]) throws {
            bytes += line
            if bytes.count >= 65_536 { try flush() }
        }

        mutating func flush() throws {
            guard !bytes.isEmpty else { return }
            try write(bytes)
            bytes.removeAll(keepingCapacity: true)
        }
    }
}

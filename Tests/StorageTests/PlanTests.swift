import EngineSuite
import GRDB
import Testing

@testable import Storage

@Suite(
    "Index seeks only: the cost of a read or a trim does not grow with the file",
    .timeLimit(.minutes(60)))
struct PlanTests {
    @Test func `every query of the archive is a seek`() async throws {
        let rig = try await JournalRig.withEverything()
        let plans = try rig.plans { database in
            let stored = try #require(try FileSessionRow("a", in: database))
            _ = try SavedSession(stored, waiting: [], in: database)
            _ = try SavedSession.deleted("gone", in: database)
            let entry = TailIndex.Entry(sequence: 1, number: 1, version: 1, part: 0, count: 1)
            let reader = RecordReader(database: database, stored: stored, waiting: [entry])
            try reader.each(after: HistoryPosition(0), through: 9) { _ in true }
            _ = try HistoryEnd(of: stored.row, nil, database)
            _ = try database.cachedStatement(sql: FileArchive.pageQuery(ofReactor: true))
            _ = try database.cachedStatement(sql: FileArchive.pageQuery(ofReactor: false))
            _ = try database.cachedStatement(sql: FileArchive.answerQuery)
        }
        #expect(plans.count >= 9)
        for (query, steps) in plans {
            for step in steps {
                #expect(step.hasPrefix("SEARCH"), "\(query): \(step)")
            }
        }
    }

    @Test func `the search for sessions that act without a request is by indexes`() throws {
        let rig = try JournalRig()
        let plans = try rig.plans { _ = try $0.cachedStatement(sql: FileArchive.workQuery) }
        let steps = try #require(plans.first?.steps)
        #expect(steps.contains { $0.hasPrefix("SEARCH running USING PRIMARY KEY (session>?") })
        #expect(steps.contains { $0.contains("INDEX snapshots_listening (session>?") })
        // The page itself is read from its beginning to its end.
        #expect(!steps.contains { $0.hasPrefix("SCAN") && !$0.hasPrefix("SCAN w") }, "\(steps)")
    }

    @Test func `the search for timers reads those that are due, the earliest first`() throws {
        let rig = try JournalRig()
        for (kind, index) in [(TimerKind.actions, "by_due"), (.expiries, "expiring")] {
            let plans = try rig.plans {
                _ = try $0.cachedStatement(sql: FileArchive.timerQuery(kind))
            }
            let steps = try #require(plans.first?.steps)
            #expect(steps.contains { $0.contains("COVERING INDEX timers_\(index) (") }, "\(steps)")
            #expect(!steps.contains { $0.hasPrefix("SCAN") && !$0.hasPrefix("SCAN t") }, "\(steps)")
            #expect(!steps.contains { $0.contains("TEMP B-TREE") }, "\(steps)")
        }
    }

    @Test func `a page of tagged sessions reads a range of an index, the newest first`() throws {
        let rig = try JournalRig()
        let plans = try rig.plans { _ = try $0.cachedStatement(sql: FileArchive.tagQuery) }
        let steps = try #require(plans.first?.steps)
        #expect(
            steps.contains {
                $0.contains("COVERING INDEX tags_by_value (name=? AND value=? AND")
            }, "\(steps)")
        #expect(!steps.contains { $0.hasPrefix("SCAN") || $0.contains("TEMP B-TREE") }, "\(steps)")
    }

    @Test func `rows of sessions that expire are written by keys`() throws {
        let rig = try JournalRig()
        let plans = try rig.plans {
            _ = try $0.cachedStatement(sql: Maintenance.postponement)
            _ = try $0.cachedStatement(sql: Maintenance.lastOfStep)
            _ = try $0.cachedStatement(sql: Maintenance.addition)
        }
        #expect(plans.count == 3)
        let addition = try #require(plans.first { $0.query == Maintenance.addition }?.steps)
        #expect(
            addition.contains { $0.contains("INTEGER PRIMARY KEY (rowid>? AND rowid<?)") },
            "\(addition)")
        for (query, steps) in plans {
            for step in steps where !step.hasPrefix("SCAN (subquery") {
                #expect(!step.hasPrefix("SCAN"), "\(query): \(step)")
            }
        }
    }

    @Test func `a page of one reactor's sessions uses its own index`() async throws {
        let rig = try JournalRig()
        let plans = try rig.plans {
            _ = try $0.cachedStatement(sql: FileArchive.pageQuery(ofReactor: true))
        }
        let steps = try #require(plans.first?.steps)
        #expect(
            steps == [
                "SEARCH sessions USING INDEX sessions_by_reactor (reactor=? AND id>? AND id<?)"
            ])
    }

    @Test func `a page of a prefix ends where its ids end`() async throws {
        let rig = try JournalRig()
        let plans = try rig.plans {
            _ = try $0.cachedStatement(sql: FileArchive.pageQuery(ofReactor: false))
        }
        let steps = try #require(plans.first?.steps)
        #expect(steps.count == 1)
        #expect(steps.first?.hasPrefix("SEARCH sessions USING INDEX") == true)
        #expect(steps.first?.hasSuffix("(id>? AND id<?)") == true)
    }

    /// Scans in the order of a key that stop at a limit.
    private static let bounded: Set<String> = [
        "CO-ROUTINE (subquery-1)", "CO-ROUTINE (subquery-2)", "SCAN tombstones",
        "SCAN (subquery-1)", "SCAN (subquery-2)", "SCALAR SUBQUERY 1", "SCALAR SUBQUERY 2",
        "SCALAR SUBQUERY 3",
    ]

    @Test func `every maintenance query seeks, or scans at most its limit`() async throws {
        let rig = try await JournalRig.withEverything()
        #expect(await rig.commit(HistoryEntry.life("more", 40)) == nil)
        #expect(await rig.commit([.deleted("a", 4)]) == nil)
        await rig.journal.close()
        let plans = try rig.plans { database in
            let tail = TailIndex()
            try tail.rebuild(database)
            var retention = JournalRetention(records: 5)
            retention.tailRecords = 10
            retention.bytes = 500
            let heads = SessionHeads(tail: tail, keeping: retention)
            try heads.reset(database)
            let maintenance = Maintenance(
                retention: retention, tail: tail, heads: heads, now: { 1_000_000 })
            for _ in 1...2 {
                maintenance.isLookDue = true
                while maintenance.areDue {
                    maintenance.charge(all: 1_000)
                    try maintenance.work(database)
                    maintenance.committed()
                }
            }
        }
        let once = ["FROM tail ORDER BY place", "max(row)", "max(session) FROM tail"]
        #expect(plans.count >= 15)
        for (query, steps) in plans where !once.contains(where: query.contains) {
            for step in steps {
                #expect(
                    step.hasPrefix("SEARCH") || Self.bounded.contains(step), "\(query): \(step)")
            }
        }
    }
}

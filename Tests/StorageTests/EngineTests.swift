import EngineSuite
import Testing

@testable import Storage

@Suite("The file keeps what every journal promises", .timeLimit(.minutes(60)))
struct FileEngineTests {
    /// The file of a rig, opened again where it is.
    private final class OpenFile: OpenEngine {
        private let rig: JournalRig
        init(_ rig: JournalRig) { self.rig = rig }
        var journal: any Journal { rig.journal }
        func reopen() async throws { try await rig.reopen(FileEngineTests.busy) }
    }

    /// Rows are moved out of the tail often and in small steps.
    private static var busy: JournalRetention {
        var retention = JournalRetention()
        retention.tailRecords = 20
        retention.stepRows = 7
        return retention
    }

    @Test(arguments: EngineCase.all)
    func `a file`(keeps promise: EngineCase) async throws {
        try await promise.check(Engine("file") { OpenFile(try JournalRig(Self.busy)) })
    }
}

@Suite("Memory keeps what a journal without records promises", .timeLimit(.minutes(60)))
struct MemoryEngineTests {
    private final class OpenMemory: OpenEngine {
        let journal: any Journal = MemoryJournal()
        func reopen() {}
    }

    @Test(arguments: EngineCase.all)
    func memory(keeps promise: EngineCase) async throws {
        try await promise.check(Engine("memory", keepsRecords: false) { OpenMemory() })
    }
}

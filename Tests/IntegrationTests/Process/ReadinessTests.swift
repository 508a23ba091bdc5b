import ReactorHosting
import Storage
import Testing

@Suite("/readyz while the journal fails", .timeLimit(.minutes(60)))
struct ReadinessTests {
    private final class FailingJournal: Journal {
        let name = "failing"
        let archive: (any Archive)? = nil
        let failure: JournalFailure? = JournalFailure(
            reason: .unavailable, detail: "no connection to 10.0.0.7, port 5432",
            publicDetail: "the database does not answer")

        func commit(_ batch: Batch, ended: @escaping @Sendable (Verdict) -> Void) -> Commit {
            .done
        }
    }

    @Test func `clients get the reason without the address of the database`() async throws {
        try await LocalServer.with(FailingJournal()) { _ in
        } _: { server in
            let answer = try await server.client().get("/readyz")
            try expectProblem(answer, 503, "journal_unavailable")
            #expect(answer.text.contains("the database does not answer"))
            #expect(!answer.text.contains("10.0.0.7"))
            #expect(!answer.text.contains("5432"))
        }
    }
}

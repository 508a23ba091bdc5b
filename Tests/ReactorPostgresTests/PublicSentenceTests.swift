import Storage
import Testing

@testable import ReactorPostgres

@Suite("A failure of PostgreSQL, as clients see it", .timeLimit(.minutes(15)))
struct PublicSentenceTests {
    @Test(arguments: [nil, "08006", "57P03", "53100", "28P01", "55P03", "XX000"])
    func `has no word of the database's message, and operators get it whole`(state: String?) {
        let message = #"connection to server at "10.0.0.7", port 5432 failed: user "ada""#
        let failure = JournalFailure(
            PostgresFault(state: state, message: message, isBroken: state == nil))
        #expect(failure.detail.contains(message))
        for word in ["10.0.0.7", "5432", "ada"] {
            #expect(!failure.publicDetail.contains(word), "\(failure.publicDetail)")
        }
    }
}

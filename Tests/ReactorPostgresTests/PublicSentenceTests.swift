import PostgresRig
import Storage
import Testing

@testable import ReactorPostgres

@Suite("A failure of PostgreSQL, as clients see it", .timeLimit(.minutes(60)))
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

    @Test(arguments: ["22021", "22P02", "22P05", "22001", "22003", "23514", "54000"])
    func `says what is wrong with data, and not the value`(state: String) {
        let message = #"ERROR:  invalid input syntax for type bigint: "ada's secret""#
        var fault = PostgresFault(state: state, message: message, isBroken: false)
        fault.names = ["table answers", "column status"]
        let failure = JournalFailure.refusal(fault)
        #expect(failure.reason == .refused)
        #expect(failure.detail.contains("ada's secret"))
        #expect(!failure.publicDetail.contains("ada"), "\(failure.publicDetail)")
        #expect(
            failure.publicDetail.hasSuffix("(SQLSTATE \(state), table answers, column status)"))
    }

    /// The names come from the server itself.
    @Test func `names the column of a row that the database does not take`() throws {
        let connection = try PostgresServer.shared.get().connection()
        try connection.execute(
            "CREATE TEMPORARY TABLE kept(secret text NOT NULL, size int CHECK (size < 9))",
            within: .seconds(600))
        let statements = [
            "INSERT INTO kept VALUES(NULL, 1)": ["table kept", "column secret"],
            "INSERT INTO kept VALUES('ada', 10)": ["table kept", "constraint kept_size_check"],
            "INSERT INTO kept VALUES('ada', 'bob'::text::int)": [],
        ]
        for (statement, names) in statements {
            let fault = #expect(throws: PostgresFault.self) {
                try connection.execute(statement, within: .seconds(600))
            }
            #expect(fault?.names == names, "\(statement)")
        }
    }
}

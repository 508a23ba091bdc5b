import JSONCoding
import Reactors
import Sessions
import Testing

@testable import ReactorHosting

@Suite("Grants — the cases of actions", .timeLimit(.minutes(60)))
struct ActionGrantTests {
    /// Its actions have Swift's default form, which ignores members that are no cases.
    private struct Plain: Reactor {
        enum Action: Codable, Sendable {
            case allowed(number: Int)
            case other(number: Int)
        }

        struct State: Codable, Sendable {}

        let initialState = State()
    }

    @Test(arguments: [
        (#"{"allowed":{"number":1}}"#, true), (#"{"other":{"number":1}}"#, false),
        (#"{"type":"allowed","other":{"number":1}}"#, false),
        (#"{"allowed":{"number":1},"other":{"number":1}}"#, false),
        (#"{"\u006fther":{"number":1}}"#, false), ("{}", false), ("[{}]", false),
        (#"[{"allowed":{"number":1}},{"other":{"number":1}}]"#, false),
        (#"[{"allowed":{"number":1}},{"allowed":{"number":2}}]"#, true), ("[]", true),
    ])
    func `in Swift's default form every name must be granted`(body: String, isGranted: Bool) throws
    {
        let plain = try Hosted("plain") { Plain() }.registration.get()
        var grants = Grants.all
        grants.actions = ["allowed"]
        do throws(ActionRefusal) {
            try plain.check(JSONBody(Array(body.utf8)), batchLimit: 100, against: grants)
            #expect(isGranted, "\(body)")
        } catch {
            #expect(!isGranted, "\(body)")
            #expect(Problem(error).status == 403)
        }
    }
}

import JSONCoding
import Reactors
import Sessions
import Storage
import Testing
import Wire

@testable import ReactorHosting

@Suite("RFC 9457 — problem responses", .timeLimit(.minutes(60)))
struct ProblemTests {
    private static let all: [(Problem, Int, String)] = [
        (Problem(JSONRefusal.malformed(offset: 3, reason: "x")), 400, "malformed_json"),
        (Problem(JSONRefusal.mismatch(path: "/a", reason: "x")), 422, "not_an_action"),
        (
            Problem(.mismatch(path: "", reason: "x"), mismatch: "not_a_session"), 422,
            "not_a_session"
        ),
        (
            Problem(.malformed(offset: 0, reason: "x"), mismatch: "not_a_session"), 400,
            "malformed_json"
        ),
        (Problem(ActionRefusal.json(.mismatch(path: "", reason: "x"))), 422, "not_an_action"),
        (Problem(ActionRefusal.empty), 422, "empty_batch"),
        (Problem(ActionRefusal.tooMany(limit: 5)), 422, "batch_too_large"),
        (Problem(ActionRefusal.overloaded), 503, "too_busy"),
        (Problem(ActionRefusal.refused(Refusal("no", "No."), at: 1)), 422, "action_refused"),
        (Problem(JournalFailure(reason: .full, detail: "d")), 507, "journal_full"),
        (Problem(JournalFailure(reason: .unavailable, detail: "d")), 503, "journal_unavailable"),
        (Problem(JournalFailure(reason: .refused, detail: "d")), 422, "not_encodable"),
        (Problem(JournalFailure(reason: .moved, detail: "d")), 503, "moved"),
        (Problem.moved("s"), 503, "moved"),
        (Problem(JournalFailure(reason: .outcomeUnknown, detail: "d")), 504, "outcome_unknown"),
        (Problem(RequestRefusal.bodyTooLarge(limit: 9)), 413, "body_too_large"),
        (Problem(RequestRefusal.headTooLarge(limit: 9)), 431, "head_too_large"),
        (Problem(RequestRefusal.missingHost), 400, "missing_host"),
        (Problem(RequestRefusal.unsupportedVersion), 505, "unsupported_http_version"),
        (Problem(RequestRefusal.tooManyItems(limit: 9)), 400, "too_many_query_items"),
        (.unknownSession("s", to: nil), 404, "unknown_session"),
        (.endedSession("s"), 410, "session_ended"),
        (.unknownReactor("\"r\n"), 422, "unknown_reactor"),
        (.noRoomForSession, 503, "session_limit"),
        (.tooManyBodies, 503, "too_many_bodies"),
        (.tooMuchMemory, 503, "too_much_memory"),
        (.draining, 503, "draining"),
    ]

    // Other nodes may host other reactors.
    @Test func `an unknown topic is one that this server knows of no reactor`() {
        let topic = Problem.unknownTopic("news")
        #expect(topic.detail == "this server knows no reactor with a source of the topic news")
    }

    // Case 153
    @Test func `a detail quotes at most 512 bytes of the input`() {
        for letter in ["x", "é", "😀", "\""] {
            let long = "unknown \(String(repeating: letter, count: 300_000)) is not known here"
            let detail = Problem(422, "c", long).detail
            #expect(detail.utf8.count <= Problem.detailLimit)
            #expect(detail.utf8.count > Problem.detailLimit - 16)
            #expect(detail.hasPrefix("unknown \(letter)\(letter)"))
            #expect(detail.hasSuffix(" is not known here"))
            #expect(!detail.contains("\u{FFFD}"))
        }
        let exact = String(repeating: "x", count: Problem.detailLimit)
        #expect(Problem(422, "c", exact).detail == exact)
    }

    @Test(arguments: [.full, .unavailable, .refused, .outcomeUnknown] as [JournalFailure.Reason])
    func `a failure of the journal is what clients may know of it`(reason: JournalFailure.Reason) {
        let failure = JournalFailure(reason: reason, detail: "secret", publicDetail: "the reason")
        let detail = Problem(failure).detail
        #expect(detail.contains("the reason") && !detail.contains("secret"), "\(detail)")
    }

    @Test func `each problem has its status and its code`() {
        for (problem, status, code) in Self.all {
            #expect(problem.status == status, "\(problem)")
            #expect(problem.code == code, "\(problem)")
        }
    }

    @Test func `the body is one JSON document with the members of §3.1`() throws {
        for (problem, _, _) in Self.all {
            let body = try JSON.decode(JSONValue.self, from: problem.body)
            #expect(body["status"] == .number(String(problem.status)))
            #expect(body["code"] == .string(problem.code))
            #expect(body["detail"] == .string(problem.detail))
            #expect(body["title"] == .string(StatusLine.reason(problem.status)))
            guard case .string(let type)? = body["type"] else {
                Issue.record("a type is a URI reference")
                continue
            }
            #expect(type.hasSuffix("#\(problem.code)"))
            #expect(problem.body.last == UInt8(ascii: "\n"))
        }
    }

    @Test func `codes are plain words, and titles are those of RFC 9110`() {
        for (problem, _, _) in Self.all {
            #expect(problem.code.allSatisfy { $0.isASCII && ($0.isLowercase || $0 == "_") })
            #expect(StatusLine.reason(problem.status) != StatusLine.reason(500))
        }
    }

    @Test func `RFC 9110 §10.2.3: a temporary problem has Retry-After`() {
        for (problem, status, _) in Self.all where [503, 504, 507].contains(status) {
            #expect(problem.fields.contains { $0.name == "Retry-After" }, "\(problem)")
        }
    }

    @Test func `a client with a token learns that PUT may be refused for an id in use`() {
        let access = Access(
            "token",
            Principal(subject: "ada", grants: Grants(verbs: [], sessions: []), expiresAtSeconds: 1),
            at: 0)
        let words = "the session s does not exist; "
        let open = Problem.unknownSession("s", to: nil).detail
        #expect(open == words + "create it with PUT")
        let authenticated = Problem.unknownSession("s", to: access).detail
        #expect(
            authenticated
                == words + "PUT creates it, unless another client uses its id or has used it")
    }

    @Test func `a reactor's refusal has its code, its whole sentence and the place`() {
        func body(at index: Int?, _ detail: String) -> String {
            let refusal = ActionRefusal.refused(Refusal("bid_too_low", detail), at: index)
            return String(decoding: Problem(refusal).body, as: UTF8.self)
        }
        let end = #""code":"action_refused","refusal":{"code":"bid_too_low"}"#
        #expect(body(at: nil, "Too low.").hasSuffix("\"detail\":\"Too low.\",\(end)}\n"))
        #expect(body(at: 3, "").hasSuffix("\(end),\"pointer\":\"/3\"}\n"))
        let long = String(repeating: "x", count: 1_024)
        #expect(body(at: nil, long).contains("\"\(long)\""))
        let mismatch = Problem(JSONRefusal.mismatch(path: "/1/a", reason: "x"))
        #expect(mismatch.pointer == "/1/a")
        #expect(Problem(JSONRefusal.mismatch(path: "/" + long, reason: "x")).pointer == nil)
    }

    @Test func `the detail names the fault`() {
        #expect(Problem(JSONRefusal.malformed(offset: 3, reason: "x")).detail.contains("3"))
        #expect(Problem(JSONRefusal.mismatch(path: "/a/0", reason: "x")).detail.contains("/a/0"))
        #expect(Problem(ActionRefusal.tooMany(limit: 5)).detail.contains("5"))
        #expect(Problem.unknownSession("abc", to: nil).detail.contains("abc"))
        #expect(Problem(JournalFailure(reason: .full, detail: "why")).detail.contains("why"))
    }
}

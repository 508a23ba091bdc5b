import Testing
import Wire

@testable import ReactorHosting

@Suite("RFC 9110 §8.8.3, §13.1 — entity tags in conditions", .timeLimit(.minutes(60)))
struct EntityTagTests {
    @Test(arguments: [
        (#""a""#, ["a"], [String]()), (#""a", "b""#, ["a", "b"], []),
        (#"W/"a" ,"b""#, ["b"], ["a"]), (#""""#, [""], []), (#""a,b""#, ["a,b"], []),
        (#""a","#, ["a"], []), (#""abcdefgh.3""#, ["abcdefgh.3"], []),
    ])
    func `a list of tags`(text: String, strong: [String], weak: [String]) throws {
        let tags = try EntityTags(HeadOf("GET", "/", "If-Match: \(text)").head, .ifMatch)
        #expect(tags.strong == strong)
        #expect(tags.weak == weak)
        #expect(!tags.isAny)
    }

    @Test func `several fields are one list`() throws {
        let request = try HeadOf("GET", "/", "If-None-Match: \"a\"", "If-None-Match: W/\"b\"")
        let tags = try EntityTags(request.head, .ifNoneMatch)
        #expect(tags.includes("a"))
        #expect(tags.includes("b"), "If-None-Match compares weakly")
        #expect(!tags.includes("c"))
    }

    @Test func `a star matches any tag`() throws {
        let tags = try EntityTags(HeadOf("GET", "/", "If-Match: *").head, .ifMatch)
        #expect(tags.isAny)
        #expect(tags.includes("whatever"))
    }

    @Test(arguments: ["a", "\"a", "a\"", "'a'", "\"a\" \"b\"", "\"a\";\"b\"", "W/a", "w/\"a\""])
    func `anything else is refused and named`(text: String) throws {
        let head = try HeadOf("GET", "/", "If-Match: \(text)").head
        let problem = #expect(throws: Problem.self) { try EntityTags(head, .ifMatch) }
        #expect(problem?.status == 400)
        #expect(problem?.code == "malformed_entity_tag")
        #expect(problem?.detail.contains("If-Match") == true)
    }
}

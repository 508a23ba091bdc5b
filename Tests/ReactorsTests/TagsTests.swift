import Reactors
import Testing

@Suite("Tags — short texts by name", .timeLimit(.minutes(60)))
struct TagsTests {
    @Test func `nil and the empty text are no tags, and the last value counts`() {
        let table: String? = nil
        var tags: Tags = ["status": "open", "table": table, "guest": "", "a": "1", "a": "2"]
        #expect(tags["status"] == "open")
        #expect(tags["table"] == nil && tags["guest"] == nil)
        #expect(tags["a"] == "2")
        tags["a"] = ""
        #expect(tags == ["status": "open"])
        tags["status"] = nil
        #expect(tags == Tags())
    }

    private struct Silent: Reactor {
        typealias Action = Int
        typealias Mutation = Int
        let initialState = 0
    }

    private struct Untagged: Reactor {
        typealias Action = Int
        typealias Mutation = Int
        let initialState = 0
        static func tags(of state: Int) -> Tags { [:] }
    }

    @Test func `the default is not the same as no tags`() {
        #expect(!Silent.tags(of: 0).isDeclared)
        #expect(Untagged.tags(of: 0).isDeclared)
        #expect(Untagged.tags(of: 0) != Silent.tags(of: 0))
    }
}

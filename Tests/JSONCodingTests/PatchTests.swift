import Foundation
import Testing

@testable import JSONCoding

@Suite("RFC 6902 — JSON patches", .timeLimit(.minutes(60)))
struct PatchTests {
    /// The document after a patch.
    private func patched(
        _ document: String, _ patch: String, within limits: JSONPatch.Limits = .init()
    ) throws -> String {
        var value = try decode(JSONValue.self, document)
        try JSONPatch(try decode(JSONValue.self, patch)).apply(to: &value, within: limits)
        return try encode(value)
    }

    private func failure(
        _ document: String, _ patch: String, within limits: JSONPatch.Limits = .init(),
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> JSONPatch.Failure {
        let before = try decode(JSONValue.self, document)
        var value = before
        let failure = try #require(
            throws: JSONPatch.Failure.self, sourceLocation: sourceLocation
        ) {
            try JSONPatch(try decode(JSONValue.self, patch)).apply(to: &value, within: limits)
        }
        #expect(value == before, "the document has changed", sourceLocation: sourceLocation)
        return failure
    }

    @Test(arguments: ["tests", "spec_tests"])
    func `the cases that other implementations share`(file: String) throws {
        let cases = try PatchCase.read(file)
        #expect(cases.count >= 15)
        for one in cases {
            guard one.isFailure else {
                let result = try patched(one.document, one.patch)
                let expected = one.expected ?? result
                #expect(JSON.areSame(Array(result.utf8), Array(expected.utf8)), "\(one.comment)")
                continue
            }
            let reason = try failure(one.document, one.patch).reason
            #expect([.malformed, .noSuchPath, .testFailed].contains(reason), "\(one.comment)")
        }
    }

    @Test(arguments: [
        // The result keeps the order of members and the text of numbers.
        (#"{"b":1.0,"a":2}"#, #"[{"op":"replace","path":"/b","value":1e2}]"#, #"{"b":1e2,"a":2}"#),
        (#"{"b":1,"a":2}"#, #"[{"op":"add","path":"/b","value":3}]"#, #"{"b":3,"a":2}"#),
        ("[1]", #"[{"op":"add","path":"/1","value":2}]"#, "[1,2]"),
        ("[[1],[2]]", #"[{"op":"move","from":"/0","path":"/0/0"}]"#, nil),
        ("[[1],[2]]", #"[{"op":"move","from":"/0","path":"/1"}]"#, "[[2],[1]]"),
        ("[1,2]", #"[{"op":"move","from":"/0","path":"/-"}]"#, "[2,1]"),
        ("[1,2]", #"[{"op":"move","from":"/0","path":"/2"}]"#, nil),
        ("[1,2]", #"[{"op":"remove","path":"/-"}]"#, nil),
        ("[1,2]", #"[{"op":"test","path":"/-","value":2}]"#, nil),
        ("[1]", #"[{"op":"add","path":"/+1","value":2}]"#, nil),
        (#"{"a":1}"#, #"[{"op":"remove","path":""}]"#, nil),
        (#"{"a":1}"#, #"[{"op":"move","from":"/a","path":""}]"#, "1"),
        (#"{"a":1}"#, #"[{"op":"copy","from":"","path":"/a"}]"#, #"{"a":{"a":1}}"#),
        (#"{"a":1}"#, #"[{"op":"test","path":"/a","value":1.00e0}]"#, #"{"a":1}"#),
        (
            #"{"a":{"x":1,"y":2}}"#, #"[{"op":"test","path":"/a","value":{"y":2,"x":1}}]"#,
            #"{"a":{"x":1,"y":2}}"#
        ),
        (#"{"é":1}"#, #"[{"op":"test","path":"/e\u0301","value":1}]"#, nil),
        (#"{"a":1}"#, "[]", #"{"a":1}"#),
        (#"{"":{"":1}}"#, #"[{"op":"remove","path":"//"}]"#, #"{"":{}}"#),
    ])
    func `cases that the shared ones leave open`(document: String, patch: String, result: String?)
        throws
    {
        guard let result else {
            _ = try failure(document, patch)
            return
        }
        #expect(try patched(document, patch) == result)
    }

    @Test(arguments: [
        (#"{"op":"add"}"#, "a patch must be an array"), ("[1]", "operation 0: it is not an object"),
        (#"[{"path":"/a"}]"#, #"operation 0: "op" is missing or not a string"#),
        (
            #"[{"op":"add","path":"/a","value":1},{"op":"add","path":"/b"}]"#,
            #"operation 1: "value" is missing"#
        ),
        (
            #"[{"op":"move","path":"/a","from":1}]"#,
            #"operation 0: "from" is missing or not a string"#
        ),
        (
            #"[{"op":"remove","path":"a"}]"#,
            #"operation 0: "path": a JSON pointer is empty or begins with "/""#
        ),
        (#"[{"op":"incr","path":"/a"}]"#, #"operation 0: there is no operation "incr""#),
        (
            #"[{"op":"add","path":"/a","value":1},{"op":"test","path":"/a","value":2}]"#,
            "operation 1, /a: the value is different"
        ),
        (#"[{"op":"remove","path":"/x/y"}]"#, "operation 0, /x/y: there is no such member"),
        (
            #"[{"op":"copy","from":"/l/3","path":"/a"}]"#,
            "operation 0, /l/3: there is no element 3: the array has 2"
        ),
        (
            #"[{"op":"add","path":"/s/t","value":1}]"#,
            "operation 0, /s/t: its parent is neither an array nor an object"
        ),
        (
            #"[{"op":"remove","path":"/l/01"}]"#,
            #"operation 0, /l/01: "01" is not an array index"#
        ),
    ])
    func `a failure names the operation, the pointer and the reason`(
        patch: String, sentence: String
    ) throws {
        #expect(try failure(#"{"l":[1,2],"s":"text"}"#, patch).sentence == sentence)
    }

    @Test func `a document cannot become too deep to be read`() throws {
        let deep = String(repeating: "[", count: 100) + String(repeating: "]", count: 100)
        let path = String(repeating: "/0", count: 27) + "/-"
        let patch = #"[{"op":"add","path":"\#(path)","value":\#(deep)}]"#
        let reading = try patched(deep, patch)
        #expect(throws: Never.self) { try decode(JSONValue.self, reading) }
        let one = #"[{"op":"add","path":"/0\#(path)","value":\#(deep)}]"#
        #expect(try failure(deep, one).reason == .tooDeep)
        var limits = JSONPatch.Limits()
        limits.outerDepth = 1
        #expect(try failure(deep, patch, within: limits).reason == .tooDeep)
        let moved =
            #"[{"op":"add","path":"/1","value":\#(deep)},"#
            + #"{"op":"move","from":"/0","path":"\#(path.replacing("/0", with: "/1"))"}]"#
        #expect(try failure(deep, moved).reason == .noSuchPath)
        let copied =
            #"[{"op":"copy","from":"","path":"\#(path)"},{"op":"copy","from":"","path":"/1"}]"#
        #expect(try failure(deep, copied).reason == .tooDeep)
    }

    @Test func `a few bytes of operations cannot make much work`() throws {
        // Doubles the document 40 times.
        let doubling = Array(repeating: #"{"op":"copy","from":"","path":"/-"}"#, count: 40)
        #expect(
            try failure("[1,2]", "[\(doubling.joined(separator: ","))]").reason == .tooCostly)
        // Moves all elements for each operation.
        let long = "[\(Array(repeating: "0", count: 50_000).joined(separator: ","))]"
        let inserting = Array(repeating: #"{"op":"add","path":"/0","value":1}"#, count: 100)
        let failure1 = try failure(long, "[\(inserting.joined(separator: ","))]")
        #expect(failure1.reason == .tooCostly)
        #expect(failure1.index == 79, "4 000 000 steps of 50 000 elements")
        // Searches all members for each operation.
        let wide = "{\((0..<20_000).map { "\"k\($0)\":0" }.joined(separator: ","))}"
        let finding = Array(
            repeating: #"{"op":"replace","path":"/k19999","value":1}"#, count: 300)
        #expect(try failure(wide, "[\(finding.joined(separator: ","))]").reason == .tooCostly)
    }

    @Test func `an operation changes an unshared document in place`() throws {
        var value = JSONValue.object([
            .init(key: "list", value: .array(Array(repeating: 0, count: 1_000)))
        ])
        let append = JSONPatch([.add(JSONPointer(tokens: ["list", "-"]), 1)])
        func address() -> Int {
            guard case .object(let members) = value, case .array(let list) = members[0].value else {
                return 0
            }
            return unsafe list.withUnsafeBufferPointer { Int(bitPattern: $0.baseAddress) }
        }
        // The first operation may allocate more memory.
        try append.apply(to: &value)
        let before = address()
        for _ in 0..<100 { try append.apply(to: &value) }
        #expect(address() == before)
    }
}

/// A case of `Tests/PatchVectors`.
struct PatchCase {
    var comment: String
    var document: String
    var patch: String
    var expected: String?
    var isFailure: Bool

    /// The cases of a file, except those that repeat a member name, which cannot be decoded.
    static func read(_ file: String) throws -> [PatchCase] {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        let url = folder.appendingPathComponent("../PatchVectors/\(file).json")
        let text = String(decoding: try Data(contentsOf: url), as: UTF8.self)
        guard case .array(let cases) = try decodeStored(JSONValue.self, text) else { return [] }
        return try cases.compactMap { one in
            guard one["comment"].map({ !"\($0)".contains("duplicate ops") }) ?? true,
                one["comment"].map({ !"\($0)".contains("A.13") }) ?? true,
                let document = one["doc"], let patch = one["patch"]
            else { return nil }
            return PatchCase(
                comment: try encode(one["comment"] ?? patch),
                document: try encode(document), patch: try encode(patch),
                expected: try one["expected"].map { try encode($0) },
                isFailure: one["error"] != nil)
        }
    }
}

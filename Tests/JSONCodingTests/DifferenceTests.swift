import TestRandomness
import Testing

@testable import JSONCoding

@Suite("JSON patches — the difference between two documents", .timeLimit(.minutes(60)))
struct DifferenceTests {
    private func difference(_ one: String, _ other: String) -> String? {
        JSONPatch.difference(from: Array(one.utf8), to: Array(other.utf8)).map {
            String(decoding: $0, as: UTF8.self)
        }
    }

    /// An element that is longer than an operation.
    private static let words = String(repeating: "w", count: 100)
    /// Text that makes a document large compared with a patch.
    private static let padding = String(repeating: "x", count: 4_000)

    @Test(arguments: [
        (#"{"a":1,"b":2}"#, #"{"a":1,"b":3}"#, #"{"op":"replace","path":"/a/b","value":3}"#),
        (#"{"a":1}"#, #"{"a":1,"b":3}"#, #"{"op":"add","path":"/a/b","value":3}"#),
        (#"{"a":1,"b":3}"#, #"{"b":3}"#, #"{"op":"remove","path":"/a/a"}"#),
        (
            #"{"a":1,"c":[2]}"#, #"{"a":1,"b":null,"c":[2]}"#,
            #"{"op":"add","path":"/a/b","value":null}"#
        ),
        (#"{"a":1,"b":2}"#, #"{"b":2,"a":1}"#, ""), ("1", "1", ""),
        ("1", "1.0", #"{"op":"replace","path":"/a","value":1.0}"#),
        ("[]", "{}", #"{"op":"replace","path":"/a","value":{}}"#),
        ("[1,2,3,4]", "[1,2,3,4,5]", #"{"op":"add","path":"/a/4","value":5}"#),
        (
            #"["\#(words)",1,2,3]"#, #"["\#(words)",1,2,3,4]"#,
            #"{"op":"add","path":"/a/4","value":4}"#
        ),
        (
            #"[1,"\#(words)",2,"\#(words)",3]"#, #"["\#(words)",2,"\#(words)",3,4]"#,
            #"{"op":"remove","path":"/a/0"},{"op":"add","path":"/a/4","value":4}"#
        ),
        (
            #"[1,2,"\#(words)",4]"#, #"[1,"\#(words)",2,4]"#,
            #"{"op":"remove","path":"/a/1"},{"op":"add","path":"/a/2","value":2}"#
        ),
        ("[1,[2,[3]],4]", "[1,[2,[5]],4]", #"{"op":"replace","path":"/a/1/1/0","value":5}"#),
        (
            #"{"x/y~z":{"\"":1}}"#, #"{"x/y~z":{"\"":2}}"#,
            #"{"op":"replace","path":"/a/x~1y~0z/\"","value":2}"#
        ),
        // Longer than the value itself.
        ("[1,2,3,4]", "[5,6,7,8]", #"{"op":"replace","path":"/a","value":[5,6,7,8]}"#),
    ])
    func `it has the expected operations`(one: String, other: String, patch: String) {
        for (before, after) in [
            ("", #","z":"\#(Self.padding)""#), (#""z":"\#(Self.padding)","#, ""),
        ] {
            let found = difference(
                "{\(before)\"a\":\(one)\(after)}", "{\(before)\"a\":\(other)\(after)}")
            #expect(found == "[\(patch)]")
        }
    }

    @Test(arguments: [
        // A reader that takes the last member of a name has 2 in its place.
        (#"{"a":1,"a":2}"#, #"{"a":3,"a":2}"#), (#"{"a":1,"b":0}"#, #"{"a":1,"a":2,"b":0}"#),
        (#"{"b":0,"a":1}"#, #"{"a":2,"b":0,"a":1}"#), (#"{"a":1,"b":0}"#, #"{"a":1,"b":0,"a":2}"#),
        ("[0]", #"[0,{"a":1,"a":2}]"#), (#"{"b":1}"#, #"{"b":{"c":[{"a":1,"a":2}]}}"#),
        (#"{"b":1,"c":{"a":1,"a":2}}"#, #"{"b":2,"c":{"a":1,"a":2}}"#),
        (#"{"a":1,"a":1}"#, #"{"a":1,"a":1}"#),
    ])
    func `none is made for two members of one name`(one: String, other: String) {
        for (before, after) in [
            ("", #","z":"\#(Self.padding)""#), (#""z":"\#(Self.padding)","#, ""),
        ] {
            let texts = [one, other].map { "{\(before)\"d\":\($0)\(after)}" }
            #expect(difference(texts[0], texts[1]) == nil)
        }
    }

    @Test func `a text is searched once for two members of one name`() {
        func once(_ value: Int) -> [UInt8] { text(#""n":\#(value)"#) }
        func twice(_ value: Int) -> [UInt8] { text(#""n":\#(value),"n":0"#) }
        func text(_ members: String) -> [UInt8] {
            Array(#"{"a":{\#(members)},"z":"\#(Self.padding)"}"#.utf8)
        }
        var (isUnique, work) = (false, 0)
        func difference(_ one: [UInt8], _ other: [UInt8]) -> Bool {
            JSONPatch.difference(from: one, to: other, isUnique: &isUnique, work: &work) != nil
        }
        #expect(difference(once(1), once(2)) && isUnique)
        let before = work
        #expect(difference(once(2), once(3)) && isUnique)
        #expect(work - before < before - once(1).count / 2)
        isUnique = true
        #expect(!difference(once(1), twice(2)) && !isUnique)
        #expect(!difference(twice(2), twice(3)) && !isUnique)
    }

    @Test func `a patch is smaller than half of the document, or there is none`() throws {
        #expect(difference("1", "2") == nil)
        #expect(difference(#"{"a":1}"#, "[1]") == nil)
        let rest = #""b":"\#(String(repeating: "y", count: 200))"}"#
        for count in 0..<400 {
            let value = String(repeating: "x", count: count)
            let other = #"{"a":"\#(value)","# + rest
            guard let patch = difference(#"{"a":0,"# + rest, other) else {
                #expect(2 * (count + 43) >= other.utf8.count)
                continue
            }
            #expect(2 * patch.utf8.count < other.utf8.count)
        }
    }

    @Test(arguments: 0..<20) func `applied to one document, it gives the other`(part: UInt64)
        throws
    {
        var found = 0
        let seeds = Seeds.range(400_000)
        let count = UInt64(seeds.count) / 20
        for seed in seeds.lowerBound + part * count..<seeds.lowerBound + (part + 1) * count {
            var maker = DocumentMaker(seed)
            let (one, other) = (maker.document(), maker.changed())
            let texts = (try encode(one), try encode(other))
            guard let patch = difference(texts.0, texts.1) else { continue }
            found += 1
            var result = one
            try JSONPatch(try decode(JSONValue.self, patch)).apply(to: &result)
            try #require(
                Self.ordered(result) == Self.ordered(other),
                "seed \(seed): \(texts.0) to \(texts.1): \(patch)")
        }
        #expect(found > Int(count) / 3)
    }

    /// The value with its members sorted by name, and its numbers unchanged.
    private static func ordered(_ value: JSONValue) -> JSONValue {
        switch value {
        case .array(let elements): .array(elements.map(ordered))
        case .object(let members):
            .object(
                members.map { .init(key: $0.key, value: ordered($0.value)) }
                    .sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) })
        default: value
        }
    }

    @Test func `bytes that are no JSON never trap`() throws {
        for seed in Seeds.range(4_000) {
            var maker = DocumentMaker(seed)
            let texts = [maker.document(), maker.changed()].map { try! encode($0) }
            var bytes = texts.map { Array($0.utf8) }
            let index = Int.random(in: 0...1, using: &maker.generator)
            let place = Int.random(in: 0..<bytes[index].count, using: &maker.generator)
            if Bool.random(using: &maker.generator) {
                bytes[index].removeSubrange(place...)
            } else {
                bytes[index][place] = Array("{}[]\",:\\0".utf8).randomElement(
                    using: &maker.generator)!
            }
            _ = JSONPatch.difference(from: bytes[0], to: bytes[1])
        }
    }

    // MARK: Costs

    private static func list(_ elements: some Sequence<some Any>) -> String {
        "[\(elements.map { "\($0)" }.joined(separator: ","))]"
    }

    /// The cost of a difference from a text that was searched before, in bytes of the documents.
    private func cost(_ one: String, _ other: String) -> (work: Int, bytes: Int, patch: Int?) {
        var (isUnique, work) = (true, 0)
        let patch = JSONPatch.difference(
            from: Array(one.utf8), to: Array(other.utf8), isUnique: &isUnique, work: &work)
        return (work, one.utf8.count + other.utf8.count, patch?.count)
    }

    @Test func `a change in one place is found in one pass`() {
        let words = (0..<20_000).map { "\"element \($0)\"" }
        for place in [0, 10_000, 19_999] {
            var changed = words
            changed[place] = "\"another\""
            let (work, bytes, patch) = cost(
                #"{"a":{"b":\#(Self.list(words))}}"#, #"{"a":{"b":\#(Self.list(changed))}}"#)
            #expect(work < bytes, "\(place)")
            #expect(patch ?? .max < 100)
        }
        let (work, bytes, patch) = cost(Self.list(words), Self.list(words + ["1"]))
        #expect(work < bytes)
        #expect(patch == #"[{"op":"add","path":"/20000","value":1}]"#.utf8.count)
    }

    @Test func `no pair of documents takes more work than the limit`() {
        let deep = String(repeating: "[", count: 127), shut = String(repeating: "]", count: 127)
        let long = String(repeating: "0,", count: 400_000)
        let wide = (0..<60_000).map { "\"k\($0)\":\($0)" }
        let pairs = [
            // An array at each level, and the difference in the innermost, before much text.
            (deep + "1," + long + "1" + shut, deep + "2," + long + "2" + shut),
            // Much text at each level after the difference.
            (
                String(repeating: "[", count: 120) + "1"
                    + String(repeating: ",\(long)0]", count: 1)
                    + String(
                        repeating: ",0]", count: 119),
                String(repeating: "[", count: 120) + "2"
                    + String(repeating: ",\(long)1]", count: 1)
                    + String(
                        repeating: ",1]", count: 119)
            ),
            // As many edits as possible.
            (Self.list(0..<100_000), Self.list((0..<100_000).map { $0 % 1_500 == 0 ? -1 : $0 })),
            (Self.list(0..<60_000), Self.list((0..<60_000).map { _ in 7 })),
            // All names in another order.
            ("{\(wide.joined(separator: ","))}", "{\(wide.reversed().joined(separator: ","))}"),
        ]
        let limits = JSONPatch.DifferenceLimits()
        for (one, other) in pairs {
            var (isUnique, work) = (true, 0)
            _ = JSONPatch.difference(
                from: Array(one.utf8), to: Array(other.utf8), isUnique: &isUnique, work: &work)
            #expect(work <= limits.work + one.utf8.count + other.utf8.count)
        }
    }
}

/// Makes a random document and a changed one.
private struct DocumentMaker {
    var generator: SeededGenerator
    private var value = JSONValue.null

    init(_ seed: UInt64) { generator = SeededGenerator(seed: seed) }

    mutating func document() -> JSONValue {
        value = container(depth: 3)
        // Most differences are small compared with the document.
        let padding = JSONValue.string(
            String(repeating: "p", count: .random(in: 0...600, using: &generator)))
        let member = JSONValue.Member(key: "padding", value: padding)
        if case .object(var members) = value {
            members.insert(member, at: .random(in: 0...members.count, using: &generator))
            value = .object(members)
        } else if case .array(var elements) = value {
            elements.insert(padding, at: .random(in: 0...elements.count, using: &generator))
            value = .array(elements)
        }
        return value
    }

    /// The document with a few changes.
    mutating func changed() -> JSONValue {
        var other = value
        for _ in 0..<Int.random(in: 0...4, using: &generator) { change(&other, depth: 3) }
        return other
    }

    private mutating func container(depth: Int) -> JSONValue {
        let count = Int.random(in: 0...6, using: &generator)
        guard Bool.random(using: &generator) else {
            return .array((0..<count).map { _ in any(depth: depth - 1) })
        }
        var members: [JSONValue.Member] = []
        for _ in 0..<count {
            let key = key()
            guard !members.contains(where: { $0.key == key }) else { continue }
            members.append(.init(key: key, value: any(depth: depth - 1)))
        }
        return .object(members)
    }

    private mutating func key() -> String {
        ["a", "b", "c", "", "a/b", "m~n", "\"", "\\", "é", "0", "-", "\n"].randomElement(
            using: &generator)!
    }

    private mutating func any(depth: Int) -> JSONValue {
        switch Int.random(in: 0...(depth > 0 ? 7 : 4), using: &generator) {
        case 0: .null
        case 1: .bool(Bool.random(using: &generator))
        case 2: .number(["0", "1", "1.0", "-1", "12", "1e2"].randomElement(using: &generator)!)
        case 3, 4:
            .string(["", "x", "],", "}", "\"", "\\", "{[", "ü"].randomElement(using: &generator)!)
        default: container(depth: depth)
        }
    }

    private mutating func change(_ value: inout JSONValue, depth: Int) {
        switch value {
        case .array(var elements) where Int.random(in: 0...5, using: &generator) > 0:
            let index = Int.random(in: 0...elements.count, using: &generator)
            switch Int.random(in: 0...4, using: &generator) {
            case 0 where index < elements.count: elements.remove(at: index)
            case 1: elements.insert(any(depth: depth - 1), at: index)
            case 2: elements.shuffle(using: &generator)
            default: if index < elements.count { change(&elements[index], depth: depth - 1) }
            }
            value = .array(elements)
        case .object(var members) where Int.random(in: 0...5, using: &generator) > 0:
            let index = Int.random(in: 0...members.count, using: &generator)
            let key = key()
            switch Int.random(in: 0...4, using: &generator) {
            case 0 where index < members.count: members.remove(at: index)
            case 1 where !members.contains { $0.key == key }:
                members.insert(.init(key: key, value: any(depth: depth - 1)), at: index)
            case 2: members.shuffle(using: &generator)
            default: if index < members.count { change(&members[index].value, depth: depth - 1) }
            }
            value = .object(members)
        default: value = any(depth: depth)
        }
    }
}

import Foundation
import JSONCoding
import Reactors
import Testing

private enum Action: TaggedCodable, Equatable {
    case alert(message: String?)
    case increment(number: Int, by: Double)
    case doSomeAction
}

private enum Unlabelled: TaggedCodable, Equatable {
    case alert(String?)
    case pair(Int, Int)
    case nested(Action)

    enum AlertCodingKeys: String, CodingKey { case _0 = "message" }
}

private enum Renamed: TaggedCodable, Equatable {
    case alert(text: String)
    case other

    enum CodingKeys: String, CodingKey, CaseIterable {
        case alert = "show-alert"
        case other
    }
}

private indirect enum Tree: TaggedCodable, Equatable {
    case leaf(value: Int)
    case node(left: Tree, right: Tree?)
    case many(children: [Tree], named: [String: Tree])
}

@Suite("TaggedCodable — the case name is a member beside its fields", .timeLimit(.minutes(60)))
struct TaggedCodableTests {
    private func bothWays<Value: Codable & Equatable>(_ value: Value, _ text: String) throws {
        #expect(try encode(value) == text)
        #expect(try decode(Value.self, text) == value)
    }

    @Test func `type comes first, the fields follow`() throws {
        try bothWays(Action.alert(message: "Hello"), #"{"type":"alert","message":"Hello"}"#)
        try bothWays(
            Action.increment(number: 5, by: 0.5), #"{"type":"increment","number":5,"by":0.5}"#)
        try bothWays(Action.doSomeAction, #"{"type":"doSomeAction"}"#)
    }

    @Test func `type may stand anywhere when read, and extra fields are ignored`() throws {
        #expect(
            try decode(Action.self, #"{"x":[{"type":"no"}],"message":"a","type":"alert"}"#)
                == .alert(message: "a"))
        #expect(try decode(Action.self, #"{"type":"doSomeAction","message":1}"#) == .doSomeAction)
        #expect(try decode(Action.self, #"{"t\u0079pe":"al\u0065rt"}"#) == .alert(message: nil))
    }

    @Test func `a missing or null optional is nil`() throws {
        #expect(try decode(Action.self, #"{"type":"alert"}"#) == .alert(message: nil))
        #expect(
            try decode(Action.self, #"{"type":"alert","message":null}"#) == .alert(message: nil))
        #expect(try encode(Action.alert(message: nil)) == #"{"type":"alert"}"#)
    }

    @Test func `values without a label are named _0, _1 or by their coding keys`() throws {
        try bothWays(Unlabelled.alert("Hello"), #"{"type":"alert","message":"Hello"}"#)
        try bothWays(Unlabelled.pair(1, 2), #"{"type":"pair","_0":1,"_1":2}"#)
    }

    @Test func `a tagged value may contain a tagged value`() throws {
        try bothWays(
            Unlabelled.nested(.alert(message: "x")),
            #"{"type":"nested","_0":{"type":"alert","message":"x"}}"#)
        try bothWays(
            Tree.node(left: .leaf(value: 1), right: .node(left: .leaf(value: 2), right: nil)),
            #"{"type":"node","left":{"type":"leaf","value":1},"#
                + #""right":{"type":"node","left":{"type":"leaf","value":2}}}"#)
        try bothWays(
            Tree.many(children: [.leaf(value: 1), .leaf(value: 2)], named: ["a": .leaf(value: 3)]),
            #"{"type":"many","children":[{"type":"leaf","value":1},{"type":"leaf","value":2}],"#
                + #""named":{"a":{"type":"leaf","value":3}}}"#)
    }

    @Test func `the depth limit holds for reading and writing`() throws {
        func nested(_ depth: Int) -> String {
            (1..<depth).reduce(#"{"type":"leaf","value":1}"#) { inner, _ in
                #"{"type":"node","left":\#(inner)}"#
            }
        }
        try bothWays(decode(Tree.self, nested(128)), nested(128))
        guard case .malformed = try refusal(Tree.self, nested(129)) else {
            Issue.record("refused, but not as malformed")
            return
        }
    }

    @Test func `tagged values work in arrays, optionals, dictionaries and fields`() throws {
        struct Holder: Codable, Equatable {
            var one: Action
            var maybe: Action?
            var none: Action?
            var list: [Action?]
        }
        let holder = Holder(
            one: .doSomeAction, maybe: .alert(message: "a"), none: nil, list: [nil, .doSomeAction])
        try bothWays(
            holder,
            #"{"one":{"type":"doSomeAction"},"maybe":{"type":"alert","message":"a"},"#
                + #""list":[null,{"type":"doSomeAction"}]}"#)
        try bothWays(["k": Action.doSomeAction], #"{"k":{"type":"doSomeAction"}}"#)
        try bothWays([Action.doSomeAction], #"[{"type":"doSomeAction"}]"#)
        try bothWays(Action?.some(.doSomeAction), #"{"type":"doSomeAction"}"#)
    }

    @Test func `renamed cases are read and written by their new names`() throws {
        try bothWays(Renamed.alert(text: "a"), #"{"type":"show-alert","text":"a"}"#)
        #expect(throws: JSONRefusal.self) {
            try decode(Renamed.self, #"{"type":"alert","text":""}"#)
        }
    }

    @Test func `an unknown type is refused at its place`() throws {
        #expect(
            try refusal(Action.self, #"{"type":"nope"}"#)
                == .mismatch(path: "/type", reason: #"unknown type "nope""#))
        #expect(
            try refusal([Action].self, #"[{"type":"doSomeAction"},{"type":"nope"}]"#)
                == .mismatch(path: "/1/type", reason: #"unknown type "nope""#))
    }

    @Test func `the known types are listed where the coding keys are CaseIterable`() throws {
        #expect(
            try refusal(Renamed.self, #"{"type":"nope"}"#)
                == .mismatch(
                    path: "/type",
                    reason: #"unknown type "nope"; known are "show-alert", "other""#))
    }

    @Test func `a missing type, a type that is no text and a non-object are refused`() throws {
        #expect(
            try refusal(Action.self, #"{"message":"a"}"#)
                == .mismatch(path: "/type", reason: #"the field "type" is missing"#))
        #expect(
            try refusal(Action.self, #"{"type":1}"#)
                == .mismatch(path: "/type", reason: "expected a string, found a number"))
        #expect(
            try refusal(Action.self, #""alert""#)
                == .mismatch(path: "", reason: "expected an object, found a string"))
        #expect(
            try refusal(Action.self, "[]")
                == .mismatch(path: "", reason: "expected an object, found an array"))
        #expect(
            try refusal(Action.self, #"{"alert":{"message":"a"}}"#)
                == .mismatch(path: "/type", reason: #"the field "type" is missing"#))
    }

    @Test func `a refused field is named by its path`() throws {
        #expect(
            try refusal(Action.self, #"{"type":"increment","by":1}"#)
                == .mismatch(path: "/number", reason: #"the field "number" is missing"#))
        #expect(
            try refusal([Action].self, #"[{"type":"increment","number":"5","by":1}]"#)
                == .mismatch(path: "/0/number", reason: "expected a number, found a string"))
        #expect(
            try refusal(Tree.self, #"{"type":"node","left":{"type":"leaf","value":true}}"#)
                == .mismatch(path: "/left/value", reason: "expected a number, found a boolean"))
    }

    @Test func `a type that tries another form after a failure reads that one`() throws {
        enum Either: Decodable, Equatable {
            case action(Action)
            case renamed(Renamed)
            init(from decoder: any Decoder) throws {
                let container = try decoder.singleValueContainer()
                do {
                    self = .action(try container.decode(Action.self))
                } catch {
                    self = .renamed(try container.decode(Renamed.self))
                }
            }
        }
        #expect(try decode(Either.self, #"{"type":"other"}"#) == .renamed(.other))
    }

    @Test func `a field of a case can't be called type`() throws {
        enum Clash: TaggedCodable {
            case item(type: String)
            case optional(type: String?)
        }
        #expect(try failure(of: Clash.item(type: "a")).reason.contains("can't be called \"type\""))
        for text in [#"{"type":"item"}"#, #"{"type":"optional"}"#] {
            guard case .mismatch(_, let reason) = try refusal(Clash.self, text) else {
                Issue.record("refused, but not as a mismatch")
                return
            }
            #expect(reason.contains("can't be called \"type\""))
        }
    }

    @Test func `an enum with raw values is coded as its raw value`() throws {
        enum Color: String, TaggedCodable { case red, green }
        try bothWays(Color.red, #""red""#)
        try bothWays([Color.green], #"["green"]"#)
        guard case .mismatch(let path, _) = try refusal([Color].self, #"["blue"]"#) else {
            Issue.record("refused, but not as a mismatch")
            return
        }
        #expect(path == "/0")
    }

    @Test func `a struct that conforms is refused, not written in another form`() throws {
        struct Plain: TaggedCodable, Equatable { var a = 1 }
        struct Empty: TaggedCodable {}
        #expect(try failure(of: Plain()).reason == failure(of: [Plain()]).reason)
        #expect(try failure(of: Plain()).reason.contains("TaggedCodable is for enums"))
        #expect(try failure(of: Empty()).reason.contains("TaggedCodable is for enums"))
        guard case .mismatch(_, let reason) = try refusal(Plain.self, #"{"type":"a","a":1}"#) else {
            Issue.record("refused, but not as a mismatch")
            return
        }
        #expect(reason.contains("TaggedCodable is for enums"))
    }

    @Test func `other coders use Swift's own form`() throws {
        let data = try JSONEncoder().encode(Action.alert(message: "a"))
        #expect(String(decoding: data, as: UTF8.self) == #"{"alert":{"message":"a"}}"#)
    }

    @Test func `an enum without the marker keeps Swift's own form`() throws {
        enum Plain: Codable, Equatable {
            case alert(message: String?)
            case pair(Int, Int)
            case none
        }
        try bothWays(Plain.alert(message: "a"), #"{"alert":{"message":"a"}}"#)
        try bothWays(Plain.pair(1, 2), #"{"pair":{"_0":1,"_1":2}}"#)
        try bothWays(Plain.none, #"{"none":{}}"#)
    }
}

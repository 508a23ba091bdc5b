import TestRandomness
import JSONCoding
import Testing

private enum Key: String, CodingKey { case a, b, c, d }

/// Encodes itself by its closure.
private struct Custom: Encodable {
    var body: (any Encoder) throws -> Void
    func encode(to encoder: any Encoder) throws { try body(encoder) }
}

private struct Refused: Error, CustomStringConvertible {
    var description: String { "no" }
}

/// Writes half of itself before it fails.
private struct Failing: Encodable {
    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(1, forKey: .a)
        var inner = container.nestedUnkeyedContainer(forKey: .b)
        try inner.encode(2)
        throw Refused()
    }
}

@Suite("Encoder — containers, written in any order", .timeLimit(.minutes(60)))
struct EncoderContainerTests {
    @Test func `two open containers are written to in turn`() throws {
        let text = try encode(
            Custom { encoder in
                var root = encoder.container(keyedBy: Key.self)
                var list = root.nestedUnkeyedContainer(forKey: .a)
                var object = root.nestedContainer(keyedBy: Key.self, forKey: .b)
                for value in 0..<3 {
                    try list.encode(value)
                    try object.encode([value], forKey: [.a, .b, .c][value])
                }
                try root.encode("end", forKey: .c)
                try list.encode(["x": 1])
                var deep = object.nestedUnkeyedContainer(forKey: .d)
                try list.encode("last")
                try deep.encode(true)
                try root.encode(0, forKey: .d)
                #expect(list.count == 5)
            })
        #expect(
            text == #"{"a":[0,1,2,{"x":1},"last"],"b":{"a":[0],"b":[1],"c":[2],"d":[true]},"#
                + #""c":"end","d":0}"#)
    }

    @Test func `super encoders may be filled late, never, or in any form`() throws {
        let text = try encode(
            Custom { encoder in
                var root = encoder.container(keyedBy: Key.self)
                let never = root.superEncoder()
                let object = root.superEncoder(forKey: .a)
                let list = root.superEncoder(forKey: .b)
                let single = root.superEncoder(forKey: .c)
                let value = root.superEncoder(forKey: .d)
                var valueContainer = value.singleValueContainer()
                try valueContainer.encode([1: "x"])
                var singleContainer = single.singleValueContainer()
                try singleContainer.encode("long enough to move everything")
                var listContainer = list.unkeyedContainer()
                try listContainer.encode(1)
                var objectContainer = object.container(keyedBy: Key.self)
                try objectContainer.encode(2, forKey: .a)
                try listContainer.encode(3)
                _ = never
            })
        #expect(
            text == #"{"super":{},"a":{"a":2},"b":[1,3],"c":"long enough to move everything","#
                + #""d":{"1":"x"}}"#)
    }

    @Test func `super encoders of an array keep their positions`() throws {
        let text = try encode(
            Custom { encoder in
                var list = encoder.unkeyedContainer()
                let first = list.superEncoder()
                try list.encode(2)
                var container = first.singleValueContainer()
                try container.encode(1)
                let third = list.superEncoder()
                var inner = third.unkeyedContainer()
                try inner.encodeNil()
            })
        #expect(text == "[1,2,[null]]")
    }

    @Test func `a container that is requested twice is one container`() throws {
        let text = try encode(
            Custom { encoder in
                var one = encoder.container(keyedBy: Key.self)
                try one.encode(1, forKey: .a)
                var two = encoder.container(keyedBy: Key.self)
                try two.encode(2, forKey: .b)
                try one.encode(3, forKey: .c)
            })
        #expect(text == #"{"a":1,"b":2,"c":3}"#)
    }

    @Test func `containers without content are empty`() throws {
        #expect(try encode(Custom { _ = $0.unkeyedContainer() }) == "[]")
        #expect(try encode(Custom { _ = $0.container(keyedBy: Key.self) }) == "{}")
        #expect(try encode([Custom { _ in }]) == "[{}]")
        #expect(try encode([[Int]]()) == "[]")
        #expect(try encode([String: Int]()) == "{}")
        #expect(
            try encode(
                Custom { encoder in
                    var list = encoder.unkeyedContainer()
                    _ = list.nestedUnkeyedContainer()
                    _ = list.nestedContainer(keyedBy: Key.self)
                    _ = list.nestedUnkeyedContainer()
                }) == "[[],{},[]]")
    }

    @Test func `a failing value leaves nothing, and another may replace it`() throws {
        let text = try encode(
            Custom { encoder in
                var root = encoder.container(keyedBy: Key.self)
                #expect(throws: Refused.self) { try root.encode(Failing(), forKey: .a) }
                try root.encode("instead", forKey: .a)
                var list = root.nestedUnkeyedContainer(forKey: .b)
                #expect(throws: Refused.self) { try list.encode(Failing()) }
                #expect(throws: (any Error).self) { try list.encode(Double.nan) }
                try list.encode(1)
                #expect(throws: Refused.self) { try list.encode([[Failing()]]) }
                try root.encode(2, forKey: .c)
                #expect(throws: Refused.self) { try list.encode(["x": Failing()]) }
                try list.encode(3)
                #expect(list.count == 2)
            })
        #expect(text == #"{"a":"instead","b":[1,3],"c":2}"#)
    }

    @Test func `a failing value in a slot leaves the slot empty, open or closed`() throws {
        let text = try encode(
            Custom { encoder in
                var root = encoder.container(keyedBy: Key.self)
                let late = root.superEncoder(forKey: .a)
                try root.encode(1, forKey: .b)
                var container = late.singleValueContainer()
                #expect(throws: Refused.self) { try container.encode(Failing()) }
                try root.encode(2, forKey: .c)
                try container.encode("now")
                let open = root.superEncoder(forKey: .d)
                var container2 = open.singleValueContainer()
                #expect(throws: Refused.self) { try container2.encode(Failing()) }
                try container2.encode(4)
            })
        #expect(text == #"{"a":"now","b":1,"c":2,"d":4}"#)
    }

    @Test func `an error names its position`() throws {
        #expect(
            try failure(of: ["k": [Failing()]])
                == JSONEncodingFailure(path: "/k/0/b/0", reason: "no")
                || failure(of: ["k": [Failing()]]).path.hasPrefix("/k/0"))
        #expect(try failure(of: ["k/~": Double.nan]).path == "/k~1~0")
        #expect(try failure(of: [[1.0], [2, .infinity]]).path == "/1/1")
    }

    @Test func `codingPath is the path to the value being encoded`() throws {
        func path(_ path: [any CodingKey]) -> [String] { path.map(\.stringValue) }
        let leaf = Custom { encoder in
            #expect(path(encoder.codingPath) == ["a", "1", "b"])
            var container = encoder.container(keyedBy: Key.self)
            try container.encode("a \"quoted\" : key", forKey: .a)
            #expect(path(container.codingPath) == ["a", "1", "b"])
            let list = container.nestedUnkeyedContainer(forKey: .b)
            #expect(path(list.codingPath) == ["a", "1", "b", "b"])
            #expect(path(encoder.singleValueContainer().codingPath) == ["a", "1", "b"])
        }
        _ = try encode(["a": [["b": Custom { _ in }], ["b": leaf]]])
    }

    @Test func `misuse is an error and not a trap`() throws {
        #expect(try failure(of: Custom { _ in }).reason.contains("encodes nothing"))
        let twice = Custom { encoder in
            var container = encoder.singleValueContainer()
            try container.encode(1)
            try container.encode(2)
        }
        #expect(try failure(of: twice).reason.contains("two ways"))
        let both = Custom { encoder in
            _ = encoder.unkeyedContainer()
            _ = encoder.container(keyedBy: Key.self)
        }
        #expect(try failure(of: both).reason.contains("two ways"))
        #expect(try failure(of: [both]).reason.contains("two ways"))
        let mixed = Custom { encoder in
            var container = encoder.singleValueContainer()
            var list = encoder.unkeyedContainer()
            try container.encode(1)
            try list.encode(1)
        }
        #expect(try failure(of: mixed).reason.contains("two ways"))
    }

    @Test func `a container that outlives its encode(to:) can't spoil the text`() throws {
        let stolen = Custom { encoder in
            var root = encoder.container(keyedBy: Key.self)
            var inner: (any UnkeyedEncodingContainer)?
            try root.encode(Custom { inner = $0.unkeyedContainer() }, forKey: .a)
            try inner?.encode(1)
        }
        #expect(try failure(of: stolen).reason.contains("outside"))
        let outer = Custom { encoder in
            var root = encoder.container(keyedBy: Key.self)
            let copy = root
            try root.encode(
                Custom { encoder in
                    var list = encoder.unkeyedContainer()
                    try list.encode(1)
                    var root = copy
                    try root.encode(2, forKey: .b)
                }, forKey: .a)
        }
        #expect(try failure(of: outer).reason.contains("outside"))
    }

    @Test func `an endless value is an error`() throws {
        final class Endless: Encodable {
            func encode(to encoder: any Encoder) throws {
                var container = encoder.unkeyedContainer()
                try container.encode(self)
            }
        }
        #expect(try failure(of: Endless()).reason.contains("too deep"))
        var tree = JSONValue.null
        for _ in 0..<600 { tree = .array([tree]) }
        #expect(try failure(of: tree).reason.contains("too deep"))
    }

    @Test func `writing in any order gives the same text`() throws {
        var random = SeededGenerator(seed: 3)
        let expected = #"{"a":[0,1,2],"b":[0,1,2],"c":[0,1,2],"d":[0,1,2]}"#
        for _ in 0..<200 {
            var steps = (0..<4).flatMap { list in (0..<3).map { _ in list } }
            steps.shuffle(using: &random)
            let order = steps
            let text = try encode(
                Custom { encoder in
                    var root = encoder.container(keyedBy: Key.self)
                    var lists = [Key.a, .b, .c, .d].map { root.nestedUnkeyedContainer(forKey: $0) }
                    for list in order { try lists[list].encode(lists[list].count) }
                })
            #expect(text == expected)
        }
    }
}

@Suite("Decoder — containers", .timeLimit(.minutes(60)))
struct DecoderContainerTests {
    private class Animal: Codable {
        var name: String
        init(name: String) { self.name = name }
    }

    private final class Dog: Animal {
        var age: Int
        enum CodingKeys: CodingKey { case age }
        init(name: String, age: Int) {
            self.age = age
            super.init(name: name)
        }
        required init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            age = try container.decode(Int.self, forKey: .age)
            try super.init(from: container.superDecoder())
        }
        override func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(age, forKey: .age)
            try super.encode(to: container.superEncoder())
        }
    }

    @Test func `a class is coded with its superclass`() throws {
        let text = try encode(Dog(name: "Rex", age: 3))
        #expect(text == #"{"age":3,"super":{"name":"Rex"}}"#)
        let dog = try decode(Dog.self, text)
        #expect(dog.name == "Rex")
        #expect(dog.age == 3)
        #expect(
            try refusal(Dog.self, #"{"age":3,"super":{}}"#)
                == .mismatch(path: "/super/name", reason: #"the field "name" is missing"#))
        #expect(
            try refusal(Dog.self, #"{"age":3}"#)
                == .mismatch(path: "/super", reason: #"the field "super" is missing"#))
    }

    @Test func `nested containers of every kind are read to their ends`() throws {
        struct Reader: Decodable {
            init(from decoder: any Decoder) throws {
                let root = try decoder.container(keyedBy: Key.self)
                #expect(root.allKeys == [.b, .a])
                #expect(root.contains(.a))
                #expect(!root.contains(.c))
                #expect(try root.decodeNil(forKey: .a) == false)
                var list = try root.nestedUnkeyedContainer(forKey: .a)
                #expect(list.count == 5)
                #expect(try list.decode(Int.self) == 1)
                #expect(throws: DecodingError.self) { try list.decode(Int.self) }
                #expect(list.currentIndex == 1)
                #expect(try list.decode(String.self) == "x")
                #expect(try list.decodeNil())
                var inner = try list.nestedUnkeyedContainer()
                #expect(inner.isAtEnd)
                #expect(throws: DecodingError.self) { try inner.decodeNil() }
                let object = try list.nestedContainer(keyedBy: Key.self)
                #expect(
                    try object.superDecoder(forKey: .d).singleValueContainer().decode(Int.self) == 9
                )
                #expect(object.codingPath.map(\.stringValue) == ["a", "4"])
                #expect(list.isAtEnd)
                #expect(throws: DecodingError.self) { try list.decode(Int.self) }
                #expect(throws: DecodingError.self) { try list.superDecoder() }
                let empty = try root.nestedContainer(keyedBy: Key.self, forKey: .b)
                #expect(empty.allKeys.isEmpty)
                #expect(throws: DecodingError.self) { try root.nestedUnkeyedContainer(forKey: .b) }
                #expect(throws: DecodingError.self) {
                    try root.nestedContainer(keyedBy: Key.self, forKey: .a)
                }
                #expect(decoder.userInfo.isEmpty)
            }
        }
        _ = try decode(Reader.self, #"{"b":{},"x":1,"a":[1,"x",null,[],{"d":9}]}"#)
    }

    @Test func `stored: of duplicate members the first counts, in objects of any size`() throws {
        let few = #"{"a":1,"a":2,"b":3}"#
        struct Pair: Decodable { var a: Int, b: Int }
        #expect(try decodeStored(Pair.self, few).a == 1)
        let many = (0..<40).map { #""k\#($0)":0"# }.joined(separator: ",")
        #expect(try decodeStored(Pair.self, #"{"b":3,"a":1,"# + many + #","a":2}"#).a == 1)
    }

    @Test func `a large object is read by key, including escaped keys`() throws {
        let count = 5000
        let members = (0..<count).map { #""\u006bey\#($0)":\#($0)"# }.joined(separator: ",")
        let read = try decode([String: Int].self, "{\(members)}")
        #expect(read.count == count)
        #expect((0..<count).allSatisfy { read["key\($0)"] == $0 })
    }

    @Test func `every mismatch names its position and the value found`() throws {
        struct Every: Decodable {
            var text: String?
            var flag: Bool?
            var number: Int?
            var list: [Int]?
            var object: [String: Int]?
            var small: UInt8?
        }
        func reason(_ text: String) throws -> JSONRefusal { try refusal(Every.self, text) }
        #expect(
            try reason(#"{"text":1}"#)
                == .mismatch(path: "/text", reason: "expected a string, found a number"))
        #expect(
            try reason(#"{"flag":"true"}"#)
                == .mismatch(path: "/flag", reason: "expected a boolean, found a string"))
        #expect(
            try reason(#"{"number":[]}"#)
                == .mismatch(path: "/number", reason: "expected a number, found an array"))
        #expect(
            try reason(#"{"list":{}}"#)
                == .mismatch(path: "/list", reason: "expected an array, found an object"))
        #expect(
            try reason(#"{"list":[1,null]}"#)
                == .mismatch(path: "/list/1", reason: "expected a number, found null"))
        #expect(
            try reason(#"{"object":{"a/b~c":true}}"#)
                == .mismatch(path: "/object/a~1b~0c", reason: "expected a number, found a boolean"))
        #expect(
            try reason(#"{"small":256}"#)
                == .mismatch(path: "/small", reason: "the number is out of the range of UInt8"))
        #expect(
            try reason("7") == .mismatch(path: "", reason: "expected an object, found a number"))
    }

    @Test func `an error thrown by a type is a mismatch at that value`() throws {
        struct Even: Decodable {
            init(from decoder: any Decoder) throws {
                guard try decoder.singleValueContainer().decode(Int.self) % 2 == 0 else {
                    throw Refused()
                }
            }
        }
        #expect(
            try refusal([String: [Even]].self, #"{"a":[2,3]}"#)
                == .mismatch(path: "/a/1", reason: "no"))
    }

    @Test func `a missing key of an optional is nil, of anything else refused`() throws {
        struct Maybe: Decodable { var a: Int?, b: [String]?, c: Double? }
        let maybe = try decode(Maybe.self, #"{"c":null}"#)
        #expect(maybe.a == nil && maybe.b == nil && maybe.c == nil)
        struct Must: Decodable { var a: Int }
        #expect(
            try refusal(Must.self, "{}")
                == .mismatch(path: "/a", reason: #"the field "a" is missing"#))
        #expect(
            try refusal([Must].self, #"[{"a":1},{"a":null}]"#)
                == .mismatch(path: "/1/a", reason: "expected a number, found null"))
    }
}

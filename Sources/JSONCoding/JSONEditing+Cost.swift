// Look-ups, and what they and the added values cost.
extension JSONEditing {
    static var noMember: Fault {
        Fault(reason: .noSuchPath, phrase: "there is no such member")
    }
    static var noContainer: Fault {
        Fault(reason: .noSuchPath, phrase: "the value around it is no array and no object")
    }

    /// The index of the first member with this name.
    mutating func index(
        of key: String, in members: [JSONValue.Member]
    ) throws(Fault) -> Int? {
        let index = members.firstIndex { JSONText.areEqual($0.key, key) }
        try count((index ?? members.count) + 1)
        return index
    }

    /// An element's index (RFC 6901 §4: no sign, no leading zero).
    static func index(_ token: String, below count: Int) throws(Fault) -> Int {
        guard let index = Int(token), index >= 0, String(index) == token else {
            throw Fault(
                reason: .noSuchPath,
                phrase: token == "-"
                    ? "\"-\" is the element after the last one"
                    : "\"\(JSONText.shortened(token))\" is no index of an array")
        }
        guard index < count else {
            throw Fault(
                reason: .noSuchPath, phrase: "the array has no element \(index), but \(count)")
        }
        return index
    }

    /// The index of an element, or the one after the last.
    static func index(_ token: String, upTo elements: [JSONValue]) throws(Fault) -> Int {
        try index(token, below: elements.count + 1)
    }

    mutating func count(_ more: Int) throws(Fault) {
        steps += more
        guard steps <= limits.steps else {
            throw Fault(
                reason: .tooCostly,
                phrase: "the patch visits or moves more than \(limits.steps) members and elements")
        }
    }

    /// Checks that the document is not too deep with a value at a path.
    mutating func admit(_ value: JSONValue, at path: JSONPointer) throws(Fault) {
        let depth = limits.outerDepth + path.tokens.count + (try measure(value).depth)
        guard depth <= JSONScanner.depthLimit else {
            throw Fault(
                reason: .tooDeep,
                phrase: "more than \(JSONScanner.depthLimit) nested arrays and objects",
                pointer: path)
        }
    }

    /// The depth of a value, and at least its bytes as JSON without escapes.
    mutating func measure(_ value: JSONValue) throws(Fault) -> (depth: Int, bytes: Int) {
        switch value {
        case .null, .bool: return (0, 5)
        case .number(let text): return (0, text.utf8.count + 1)
        case .string(let text): return (0, text.utf8.count + 3)
        case .array(let elements):
            try count(elements.count)
            var (depth, bytes) = (0, 3)
            for element in elements {
                let inner = try measure(element)
                depth = max(depth, inner.depth)
                bytes += inner.bytes
            }
            return (depth + 1, bytes)
        case .object(let members):
            try count(members.count)
            var (depth, bytes) = (0, 3)
            for member in members {
                let inner = try measure(member.value)
                depth = max(depth, inner.depth)
                bytes += inner.bytes + member.key.utf8.count + 3
            }
            return (depth + 1, bytes)
        }
    }
}

extension JSONText {
    /// Whether two texts have the same bytes.
    ///
    /// Why both comparisons: `==` on texts is fast, but also true for canonically equal ones.
    static func areEqual(_ one: String, _ other: String) -> Bool {
        one == other && one.utf8.count == other.utf8.count
            && (one.utf8.elementsEqual(other.utf8))
    }
}

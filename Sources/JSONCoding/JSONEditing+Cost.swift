// Look-ups, and the cost of these and of added values.
extension JSONEditing {
    static var noMember: Fault {
        Fault(reason: .noSuchPath, phrase: "there is no such member")
    }
    static var noContainer: Fault {
        Fault(reason: .noSuchPath, phrase: "its parent is neither an array nor an object")
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
                    : "\"\(JSONText.shortened(token))\" is not an array index")
        }
        guard index < count else {
            throw Fault(
                reason: .noSuchPath, phrase: "there is no element \(index): the array has \(count)")
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
                phrase: "too many members and elements are visited, moved or copied")
        }
    }

    /// Counts a value at a path, and checks that the document is not too deep with it.
    mutating func admit(_ value: JSONValue, at path: JSONPointer) throws(Fault) {
        let size = try measure(value)
        guard limits.outerDepth + path.tokens.count + size.depth <= JSONScanner.depthLimit else {
            throw Fault(
                reason: .tooDeep,
                phrase: "more than \(JSONScanner.depthLimit) nested arrays and objects",
                pointer: path)
        }
        growth += size.values
    }

    /// Subtracts a value that leaves the document from the growth.
    mutating func drop(_ value: JSONValue) throws(Fault) {
        growth -= try measure(value).values
    }

    package mutating func measure(_ value: JSONValue) throws(Fault) -> JSONSize {
        var size = JSONSize()
        switch value {
        case .null, .bool: size.bytes = 5
        case .number(let text): size.bytes = text.utf8.count + 1
        case .string(let text): size.bytes = text.utf8.count + 3
        case .array(let elements):
            try count(elements.count)
            size.depth = 1
            for element in elements { size.add(try measure(element)) }
        case .object(let members):
            try count(members.count)
            size.depth = 1
            for member in members {
                size.add(try measure(member.value))
                size.bytes += member.key.utf8.count + 3
            }
        }
        return size
    }
}

/// The size of a JSON value.
package struct JSONSize {
    /// Nested arrays and objects.
    package var depth = 0
    /// A lower bound for the length of its text, without escapes.
    package var bytes = 3
    /// Members, elements and the value itself.
    package var values = 1

    fileprivate mutating func add(_ inner: JSONSize) {
        depth = max(depth, inner.depth + 1)
        bytes += inner.bytes
        values += inner.values
    }
}

extension JSONText {
    /// Whether two texts have the same bytes.
    ///
    /// Why not `==` first: it takes microseconds to find that texts are canonically equal, and a
    /// document may have many such names.
    static func areEqual(_ one: String, _ other: String) -> Bool {
        guard one.utf8.count == other.utf8.count else { return false }
        if #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) {
            let (one, other) = (one.utf8.span, other.utf8.span)
            for place in one.indices where one[place] != other[place] { return false }
            return true
        }
        return one.utf8.elementsEqual(other.utf8)
    }
}

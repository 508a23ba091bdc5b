/// The parts of a JSON document that several pointers name, found in one pass.
///
/// Why: otherwise each of many streams with a pointer would read the whole document.
package struct JSONParts {
    /// A value that a pointer leads to or through.
    private struct Node {
        var members: [[UInt8]: Int] = [:]
        /// Those of `members` whose names are indices of an array.
        var elements: [Int: Int] = [:]
        var range: Range<Int>?
    }

    /// Invariant: the first is the whole document.
    private var nodes = [Node()]
    private var indices: [JSONPointer: Int] = [:]

    /// - Parameters:
    ///   - bytes: JSON as `encode` writes it. Other bytes never trap, but the result is
    ///     meaningless.
    package init(_ pointers: some Sequence<JSONPointer>, of bytes: [UInt8]) {
        for pointer in pointers { add(pointer) }
        _ = visit(0, at: JSONSkipper.skipSpace(from: 0, in: bytes), bytes)
    }

    /// Whether it is one of the pointers.
    package func includes(_ pointer: JSONPointer) -> Bool { indices[pointer] != nil }

    /// The same as ``JSON/slice(_:of:)``.
    ///
    /// - Precondition: it is one of the pointers.
    package subscript(pointer: JSONPointer) -> Range<Int>? {
        indices[pointer].flatMap { nodes[$0].range }
    }

    private mutating func add(_ pointer: JSONPointer) {
        var index = 0
        for token in pointer.tokens {
            let name = Array(token.utf8)
            if let next = nodes[index].members[name] {
                index = next
            } else {
                nodes[index].members[name] = nodes.count
                if let number = Int(token), number >= 0, String(number) == token {
                    nodes[index].elements[number] = nodes.count
                }
                index = nodes.count
                nodes.append(Node())
            }
        }
        indices[pointer] = index
    }

    /// Finds the value at `place` and the wanted values in it. The recursion is as deep as both the
    /// pointers and the document, and a document is at most 128 deep.
    ///
    /// - Returns: the position after the value; nil if the text ends earlier.
    private mutating func visit(_ index: Int, at place: Int, _ bytes: [UInt8]) -> Int? {
        switch place < bytes.count ? bytes[place] : 0 {
        case UInt8(ascii: "{") where !nodes[index].members.isEmpty:
            return found(index, from: place, visitMembers(of: index, at: place, bytes))
        case UInt8(ascii: "[") where !nodes[index].elements.isEmpty:
            return found(index, from: place, visitElements(of: index, at: place, bytes))
        default: return found(index, from: place, JSONSkipper.end(ofValueAt: place, in: bytes))
        }
    }

    private mutating func found(_ index: Int, from place: Int, _ end: Int?) -> Int? {
        // Of several members with one name the first counts.
        if let end, nodes[index].range == nil { nodes[index].range = place..<end }
        return end
    }

    private mutating func visitMembers(of index: Int, at start: Int, _ bytes: [UInt8]) -> Int? {
        var place = JSONSkipper.skipSpace(from: start + 1, in: bytes)
        while place < bytes.count, bytes[place] == UInt8(ascii: "\"") {
            guard let end = JSONSkipper.end(ofStringAt: place, in: bytes), end - place >= 2 else {
                return nil
            }
            let key = bytes[place + 1..<end - 1]
            let name =
                key.contains(UInt8(ascii: "\\")) ? Array(JSONText.unescaped(key).utf8) : Array(key)
            place = JSONSkipper.skipSpace(from: end, in: bytes)
            guard place < bytes.count, bytes[place] == UInt8(ascii: ":") else { return nil }
            place = JSONSkipper.skipSpace(from: place + 1, in: bytes)
            guard let next = visitChild(nodes[index].members[name], at: place, bytes) else {
                return nil
            }
            place = next
        }
        return place < bytes.count && bytes[place] == UInt8(ascii: "}") ? place + 1 : nil
    }

    private mutating func visitElements(of index: Int, at start: Int, _ bytes: [UInt8]) -> Int? {
        var place = JSONSkipper.skipSpace(from: start + 1, in: bytes)
        var number = 0
        while place < bytes.count, bytes[place] != UInt8(ascii: "]") {
            guard let next = visitChild(nodes[index].elements[number], at: place, bytes) else {
                return nil
            }
            place = next
            number += 1
        }
        return place < bytes.count ? place + 1 : nil
    }

    /// - Returns: the position of the next member or element, or of the container's end.
    private mutating func visitChild(_ child: Int?, at place: Int, _ bytes: [UInt8]) -> Int? {
        let end =
            if let child, nodes[child].range == nil {
                visit(child, at: place, bytes)
            } else {
                JSONSkipper.end(ofValueAt: place, in: bytes)
            }
        guard let end else { return nil }
        let next = JSONSkipper.skipSpace(from: end, in: bytes)
        guard next < bytes.count, bytes[next] == UInt8(ascii: ",") else { return next }
        return JSONSkipper.skipSpace(from: next + 1, in: bytes)
    }
}

/// The parts of a JSON document that several pointers name, found in one pass.
///
/// Why: otherwise each of many streams with a pointer would read the whole document.
///
/// Design: a pointer costs as many steps as it shares with the document, however long it is.
package struct JSONParts {
    private var pointers: [JSONPointer] = []
    private var indices: [JSONPointer: Int] = [:]
    private var ranges: [Range<Int>?] = []

    /// - Parameters:
    ///   - bytes: JSON as `encode` writes it. Other bytes give a meaningless result.
    package init(_ pointers: some Sequence<JSONPointer>, of bytes: [UInt8]) {
        for pointer in pointers where indices[pointer] == nil {
            indices[pointer] = self.pointers.count
            self.pointers.append(pointer)
        }
        ranges = Array(repeating: nil, count: self.pointers.count)
        let start = JSONSkipper.skipSpace(from: 0, in: bytes)
        _ = visit(Array(self.pointers.indices), depth: 0, at: start, bytes)
    }

    /// Whether this is one of the pointers given to `init`.
    package func includes(_ pointer: JSONPointer) -> Bool { indices[pointer] != nil }

    /// The range of the value that the pointer names; nil if there is none.
    ///
    /// - Precondition: `pointer` is one of the pointers given to `init`.
    package subscript(pointer: JSONPointer) -> Range<Int>? {
        indices[pointer].flatMap { ranges[$0] }
    }

    /// Finds the value at `place`, and the wanted values in it. The recursion is as deep as both
    /// the pointers and the document, and a document is at most 128 deep.
    ///
    /// - Parameters:
    ///   - wanted: the pointers that lead to the value or through it.
    ///   - depth: the number of their tokens that lead to it.
    /// - Returns: the position after the value; nil if the text ends earlier.
    private mutating func visit(
        _ wanted: [Int], depth: Int, at place: Int, _ bytes: [UInt8]
    ) -> Int? {
        let inner = wanted.filter { pointers[$0].tokens.count > depth }
        let end: Int?
        switch place < bytes.count ? bytes[place] : 0 {
        case UInt8(ascii: "{") where !inner.isEmpty:
            end = visitMembers(inner, depth: depth, at: place, bytes)
        case UInt8(ascii: "[") where !inner.isEmpty:
            end = visitElements(inner, depth: depth, at: place, bytes)
        default: end = JSONSkipper.end(ofValueAt: place, in: bytes)
        }
        guard let end else { return nil }
        for index in wanted where pointers[index].tokens.count == depth {
            ranges[index] = place..<end
        }
        return end
    }

    private mutating func visitMembers(
        _ wanted: [Int], depth: Int, at start: Int, _ bytes: [UInt8]
    ) -> Int? {
        var members = Dictionary(grouping: wanted) { Array(pointers[$0].tokens[depth].utf8) }
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
            // Of several members with one name the first counts.
            let child = members.removeValue(forKey: name) ?? []
            guard let next = visitChild(child, depth: depth + 1, at: place, bytes) else {
                return nil
            }
            place = next
        }
        return place < bytes.count && bytes[place] == UInt8(ascii: "}") ? place + 1 : nil
    }

    private mutating func visitElements(
        _ wanted: [Int], depth: Int, at start: Int, _ bytes: [UInt8]
    ) -> Int? {
        let elements = Dictionary(grouping: wanted) { Self.index(pointers[$0].tokens[depth]) }
        var place = JSONSkipper.skipSpace(from: start + 1, in: bytes)
        var number = 0
        while place < bytes.count, bytes[place] != UInt8(ascii: "]") {
            let child = elements[number] ?? []
            guard let next = visitChild(child, depth: depth + 1, at: place, bytes) else {
                return nil
            }
            place = next
            number += 1
        }
        return place < bytes.count ? place + 1 : nil
    }

    /// The index of an array's element; nil if the token is not one (RFC 6901 §4).
    private static func index(_ token: String) -> Int? {
        Int(token).flatMap { $0 >= 0 && String($0) == token ? $0 : nil }
    }

    /// - Returns: the position of the next member or element, or of the container's end.
    private mutating func visitChild(
        _ wanted: [Int], depth: Int, at place: Int, _ bytes: [UInt8]
    ) -> Int? {
        let end =
            wanted.isEmpty
            ? JSONSkipper.end(ofValueAt: place, in: bytes)
            : visit(wanted, depth: depth, at: place, bytes)
        guard let end else { return nil }
        let next = JSONSkipper.skipSpace(from: end, in: bytes)
        guard next < bytes.count, bytes[next] == UInt8(ascii: ",") else { return next }
        return JSONSkipper.skipSpace(from: next + 1, in: bytes)
    }
}

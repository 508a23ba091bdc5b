// What can be said of JSON text without decoding it.

extension JSON {
    /// Where the value that `pointer` names stands in `bytes`; nil if there is none.
    ///
    /// - Parameter bytes: JSON as `encode` writes it. Other bytes never trap, but what is found
    ///   in them means nothing.
    ///
    /// An array's element is named by its index without leading zeros; `-` names none. Of members
    /// with the same key the first is meant, as in `decode`.
    ///
    /// Source: [RFC 6901 §4](https://www.rfc-editor.org/rfc/rfc6901#section-4).
    package static func slice(_ pointer: JSONPointer, of bytes: [UInt8]) -> Range<Int>? {
        var place = JSONSkipper.skipSpace(from: 0, in: bytes)
        for token in pointer.tokens {
            guard let children = JSONChildren(ofContainerAt: place, in: bytes) else { return nil }
            let child =
                bytes[place] == UInt8(ascii: "{")
                ? member(token, of: children, in: bytes) : element(token, of: children)
            guard let child else { return nil }
            place = child.lowerBound
        }
        return JSONSkipper.end(ofValueAt: place, in: bytes).map { place..<$0 }
    }

    /// Whether the first byte that is no white space opens an array.
    ///
    /// It says nothing about the rest: use it to choose what to decode, not whether to.
    package static func isArray(_ bytes: [UInt8]) -> Bool {
        let place = JSONSkipper.skipSpace(from: 0, in: bytes)
        return place < bytes.count && bytes[place] == UInt8(ascii: "[")
    }

    /// The one value of `bytes` without the white space around it, if it is no array and has no
    /// line break in it.
    ///
    /// - Parameter bytes: JSON text.
    package static func oneLine(_ bytes: [UInt8]) -> ArraySlice<UInt8>? {
        guard !isArray(bytes) else { return nil }
        let start = JSONSkipper.skipSpace(from: 0, in: bytes)
        guard let last = bytes.lastIndex(where: { !JSONSkipper.isSpace($0) }) else { return nil }
        let line = bytes[start...last]
        return line.contains { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") } ? nil : line
    }

    /// How many elements the array in `bytes` has; nil if no array begins there.
    ///
    /// - Parameter bytes: JSON text; for other bytes the count means nothing.
    package static func elementCount(_ bytes: [UInt8]) -> Int? {
        let place = JSONSkipper.skipSpace(from: 0, in: bytes)
        guard isArray(bytes), let children = JSONChildren(ofContainerAt: place, in: bytes)
        else { return nil }
        return children.reduce(0) { count, _ in count + 1 }
    }

    private static func member(
        _ token: String, of children: JSONChildren, in bytes: [UInt8]
    ) -> Range<Int>? {
        for child in children {
            guard let key = child.key else { continue }
            let text = bytes[key.lowerBound + 1..<key.upperBound - 1]
            let isEqual =
                text.contains(UInt8(ascii: "\\"))
                ? JSONText.unescaped(text).utf8.elementsEqual(token.utf8)
                : text.elementsEqual(token.utf8)
            if isEqual { return child.value }
        }
        return nil
    }

    private static func element(_ token: String, of children: JSONChildren) -> Range<Int>? {
        guard let index = Int(token), index >= 0, String(index) == token else { return nil }
        for (place, child) in children.enumerated() where place == index { return child.value }
        return nil
    }
}

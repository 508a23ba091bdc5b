// Questions about JSON text that need no decoding.

extension JSON {
    /// The range of the value in `bytes` to which `pointer` refers; nil if there is none.
    ///
    /// - Parameter bytes: JSON as `encode` writes it. Other bytes give a meaningless result.
    ///
    /// An array's element is named by its index without leading zeros; `-` refers to no element. If
    /// members have the same key, the first one is used, as in `decode`.
    ///
    /// Source: [RFC 6901 §4](https://www.rfc-editor.org/rfc/rfc6901#section-4).
    package static func slice(_ pointer: JSONPointer, of bytes: [UInt8]) -> Range<Int>? {
        JSONParts([pointer], of: bytes)[pointer]
    }

    /// Whether the first byte after white space opens an array.
    ///
    /// The rest is not checked: use this to choose how to decode, not whether to.
    package static func isArray(_ bytes: [UInt8]) -> Bool {
        let place = JSONSkipper.skipSpace(from: 0, in: bytes)
        return place < bytes.count && bytes[place] == UInt8(ascii: "[")
    }

    /// Whether an array has more elements than `limit`. Decodes none, and stops beyond the limit.
    ///
    /// - Parameter bytes: Any bytes; of those that are not a JSON array the result is arbitrary.
    package static func isArray(_ bytes: [UInt8], longerThan limit: Int) -> Bool {
        // Each element takes two bytes with its comma.
        guard bytes.count / 2 > limit, isArray(bytes) else { return false }
        let text = bytes.span
        var (place, depth, elements) = (0, 0, 1)
        while place < text.count {
            switch text[place] {
            case UInt8(ascii: "\""):
                guard let end = JSONSkipper.end(ofStringAt: place, in: bytes) else { return false }
                place = end
                continue
            case UInt8(ascii: "["), UInt8(ascii: "{"): depth += 1
            case UInt8(ascii: "]"), UInt8(ascii: "}"): depth -= 1
            case UInt8(ascii: ",") where depth == 1:
                elements += 1
                if elements > limit { return true }
            default: break
            }
            place += 1
        }
        return false
    }

    /// The single value of `bytes` without white space around it; nil for an array or a line break.
    ///
    /// - Parameter bytes: JSON text.
    package static func oneLine(_ bytes: [UInt8]) -> ArraySlice<UInt8>? {
        guard !isArray(bytes) else { return nil }
        let start = JSONSkipper.skipSpace(from: 0, in: bytes)
        guard let last = bytes.lastIndex(where: { !JSONSkipper.isSpace($0) }) else { return nil }
        let line = bytes[start...last]
        return line.contains { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") } ? nil : line
    }

    /// Whether the bytes are exactly one JSON value on one line, without anything around it.
    ///
    /// - Parameter outer: The number of additional arrays and objects that may be nested around
    ///   values that are nested 128 deep themselves. Default none.
    package static func isLine(_ bytes: [UInt8], around outer: Int = 0) -> Bool {
        guard let first = bytes.first, let last = bytes.last, !JSONSkipper.isSpace(first),
            !JSONSkipper.isSpace(last),
            !bytes.contains(where: { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") })
        else { return false }
        var scanner = JSONScanner(bytes, depthLimit: JSONScanner.depthLimit + outer)
        return (try? scanner.scan()) != nil
    }

    /// The members of an object by name, each value as its original bytes; of several members with
    /// one name the first. Nil if the bytes are not an object.
    ///
    /// Values are found at any depth, but not checked: use ``isLine(_:)`` for that. Bytes that are
    /// not JSON give nil or arbitrary ranges that look like members.
    package static func members(of bytes: [UInt8]) -> [String: [UInt8]]? {
        guard let children = JSONChildren(ofContainerAt: 0, in: bytes),
            JSONSkipper.end(ofValueAt: 0, in: bytes) == bytes.count
        else { return nil }
        var found: [String: [UInt8]] = [:]
        for child in children {
            guard
                let key = child.key.flatMap({ try? decode(String.self, stored: Array(bytes[$0])) })
            else { return nil }
            if found[key] == nil { found[key] = Array(bytes[child.value]) }
        }
        return found
    }

    /// The elements of an array, each as its original bytes; found as in ``members(of:)``.
    package static func elements(of bytes: [UInt8]) -> [[UInt8]]? {
        guard isArray(bytes), let children = JSONChildren(ofContainerAt: 0, in: bytes),
            JSONSkipper.end(ofValueAt: 0, in: bytes) == bytes.count
        else { return nil }
        return children.map { Array(bytes[$0.value]) }
    }
}

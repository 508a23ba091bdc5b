internal import Wire

/// The value of `If-Match` or `If-None-Match` (RFC 9110 §8.8.3, §13.1).
struct EntityTags: Sendable {
    /// `*`.
    var isAny = false
    /// The tags without their quotes; weak ones are in `weak`.
    var strong: [String] = []
    var weak: [String] = []

    init(_ head: RequestHead, _ field: KnownField) throws(Problem) {
        for range in head.values(of: field) {
            try read(Substring(head.text(range)), field)
        }
    }

    /// Whether a tag matches, by the weak comparison of `If-None-Match` (RFC 9110 §8.8.3.2).
    func includes(_ tag: String) -> Bool {
        isAny || strong.contains(tag) || weak.contains(tag)
    }

    private mutating func read(_ text: Substring, _ field: KnownField) throws(Problem) {
        var rest = text.trimmingSpaces
        if rest == "*" {
            isAny = true
            return
        }
        while !rest.isEmpty {
            let isWeak = rest.hasPrefix("W/")
            if isWeak { rest = rest.dropFirst(2) }
            guard rest.first == "\"", let end = rest.dropFirst().firstIndex(of: "\"") else {
                throw Problem(
                    400, "malformed_entity_tag",
                    "\(field.name) is \(text); send positions in double quotes, or *")
            }
            let tag = String(rest[rest.index(after: rest.startIndex)..<end])
            if isWeak { weak.append(tag) } else { strong.append(tag) }
            rest = rest[rest.index(after: end)...].trimmingSpaces
            guard rest.isEmpty || rest.first == "," else {
                throw Problem(
                    400, "malformed_entity_tag", "\(field.name) is \(text); separate with commas")
            }
            rest = rest.dropFirst().trimmingSpaces
        }
    }
}

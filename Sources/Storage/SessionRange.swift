/// The sessions that a page may have, in the order of their ids.
///
/// A page in memory and one from the journal's file agree on it.
package struct SessionRange: Sendable {
    /// Only ids after this text, if there is one. It need not be an id.
    package var after: String?
    /// Only ids that begin with this text. Empty: all do.
    package var prefix: String
    package var reactor: String?
    package var limit: Int

    package init(
        after: String? = nil, prefix: String = "", reactor: String? = nil, limit: Int
    ) {
        // No page has the sessions of topics. Their ids begin with `$` and sort before all others.
        let after = after ?? ""
        let isLater = Self.afterTopics.utf8.lexicographicallyPrecedes(after.utf8)
        self.after = isLater ? after : Self.afterTopics
        self.prefix = prefix
        self.reactor = reactor
        self.limit = limit
    }

    private static let afterTopics = "$\u{10FFFF}"

    /// No id of the range is before this text; `after` itself, which is not in the range, may be
    /// equal to it. Compared byte by byte, as the file's indexes are.
    var lowerBound: String {
        guard let after else { return prefix }
        return after.utf8.lexicographicallyPrecedes(prefix.utf8) ? prefix : after
    }

    /// All ids of the range are before this text: the last character of Unicode is in no id.
    var upperBound: String { prefix + "\u{10FFFF}" }

    package func contains(_ id: String, of reactor: String) -> Bool {
        // Compared byte by byte, as the file does: `<` considers some different characters equal.
        if let after, !after.utf8.lexicographicallyPrecedes(id.utf8) { return false }
        if !prefix.isEmpty, !id.utf8.starts(with: prefix.utf8) { return false }
        return self.reactor.map { $0.utf8.elementsEqual(reactor.utf8) } ?? true
    }
}

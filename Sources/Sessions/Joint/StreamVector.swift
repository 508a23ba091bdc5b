internal import Feeds

/// The position of a reader of several sessions: one entry per session, in the order of its
/// request, joined by commas.
///
/// An entry is a position, `-` (nothing yet) or `x` (the session's `end` was sent). Design: the
/// vector is kept as its text, because each event carries all of it.
package struct StreamVector: Equatable, Sendable {
    private static let nothing = Array("-".utf8)
    private static let over = Array("x".utf8)
    /// The position of a reader whose text was not a vector, until the session's `reset` and
    /// snapshot are sent. A reader that is cut off earlier continues with this position and gets a
    /// `reset` again. With `-` it would count as a new reader. No session has this generation,
    /// because generations are random.
    static let lost = "00000000.0"

    private var text: [UInt8]
    /// The offset in `text` after each entry. Invariant: a comma or the end follows.
    private var ends: [Int]

    /// The vector of a reader that has nothing yet.
    ///
    /// - Precondition: `count` is at least 1.
    package init(count: Int) {
        precondition(count > 0, "a vector has an entry")
        text = Array(repeatElement(Self.nothing, count: count).joined(separator: ",".utf8))
        ends = (0..<count).map { 2 * $0 + 1 }
    }

    /// The vector of a reader that has lost its place in each session.
    init(lostOf count: Int) {
        self.init(count: count)
        for index in 0..<count { advance(index, to: Self.lost.utf8) }
    }

    /// Nil unless the text has the form of a vector with this number of entries.
    package init?(_ text: String, count: Int) {
        let entries = text.utf8.split(
            separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
        guard entries.count == count, count > 0 else { return nil }
        self.text = Array(text.utf8)
        ends = []
        var end = -1
        for entry in entries {
            guard
                entry.elementsEqual(Self.nothing) || entry.elementsEqual(Self.over)
                    || Position(Substring(entry)) != nil
            else { return nil }
            end += 1 + entry.count
            ends.append(end)
        }
    }

    package var count: Int { ends.count }

    /// Whether the `end` of every session was sent.
    package var isOver: Bool { ends.indices.allSatisfy { isOver(at: $0) } }

    package func isOver(at index: Int) -> Bool { entry(index).elementsEqual(Self.over) }

    /// The text of a position; nil if the entry has none.
    package func position(at index: Int) -> String? {
        let entry = entry(index)
        guard !entry.elementsEqual(Self.nothing), !entry.elementsEqual(Self.over) else {
            return nil
        }
        return String(decoding: entry, as: UTF8.self)
    }

    /// Moves an entry forward.
    ///
    /// - Parameter position: the text of a position.
    mutating func advance(_ index: Int, to position: some Collection<UInt8>) {
        let range = range(index)
        let change = position.count - range.count
        text.replaceSubrange(range, with: position)
        guard change != 0 else { return }
        for later in index..<ends.count { ends[later] += change }
    }

    /// The `end` of a session is sent.
    mutating func end(_ index: Int) { advance(index, to: Self.over) }

    package func append(to out: inout [UInt8]) { out.append(contentsOf: text) }

    package var string: String { String(decoding: text, as: UTF8.self) }

    /// The text of an entry.
    func entry(_ index: Int) -> ArraySlice<UInt8> { text[range(index)] }

    private func range(_ index: Int) -> Range<Int> {
        (index == 0 ? 0 : ends[index - 1] + 1)..<ends[index]
    }
}

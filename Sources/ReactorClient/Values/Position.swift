internal import ClientMachine

/// A position in the history of a session: everything up to it is seen.
///
/// Opaque: a program saves its text and passes it back (``SessionStart/after(_:)``), and
/// compares positions.
public struct Position: Hashable, Sendable {
    let value: StreamPosition

    init(_ value: StreamPosition) { self.value = value }

    /// Reads a position that was saved; nil for a text that is none.
    public init?(_ text: String) {
        guard let value = StreamPosition(text) else { return nil }
        self.init(value)
    }

    /// The form to save, at most 40 characters of ASCII.
    public var text: String { value.text }

    /// Whether everything up to `other` is seen when everything up to this position is. False
    /// between two lives of a session: it was deleted and made again, and their positions
    /// have no order.
    public func reaches(_ other: Position) -> Bool { value.reaches(other.value) }
}

extension Position: CustomStringConvertible {
    /// The same as ``text``.
    public var description: String { text }
}

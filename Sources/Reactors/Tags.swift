/// Short texts by which lists find the sessions of a reactor: `?tag=status:open`.
///
/// ```swift
/// static func tags(of state: State) -> Tags {
///     ["status": state.isPaid ? "paid" : "open", "table": state.table]
/// }
/// ```
///
/// Nil and the empty text mean that there is no such tag. At most 8 tags; a name has 1 to 32 of
/// `a-z 0-9 _`, a value at most 64 bytes without control characters. A server leaves out tags that
/// exceed a limit, and logs that; of more than 8 tags, it takes the first in the order of their
/// names.
public struct Tags: Sendable, Equatable, ExpressibleByDictionaryLiteral {
    /// By their names.
    private(set) package var all: [String: String] = [:]
    /// False if the reactor has no `tags(of:)`.
    package private(set) var isDeclared = true

    /// The result of the default `tags(of:)`.
    package static let undeclared = {
        var tags = Tags()
        tags.isDeclared = false
        return tags
    }()

    /// No tags.
    public init() {}

    /// Of two values for one name, the last one counts.
    public init(dictionaryLiteral elements: (String, String?)...) {
        for (name, value) in elements { self[name] = value }
    }

    /// The value of a tag; nil if there is none.
    public subscript(name: String) -> String? {
        get { all[name] }
        set { all[name] = newValue.flatMap { $0.isEmpty ? nil : $0 } }
    }
}

internal import Reactors

/// A generic type that encodes its parts and nothing else.
protocol JSONContainer {
    static var form: JSONContainerForm { get }
    static var parts: [any Any.Type] { get }
}

enum JSONContainerForm {
    /// As its part.
    case bare
    /// The JSON of its part, or null.
    case optional
    /// An array whose elements are the JSON of its part.
    case list
    /// An object, or an array of alternating keys and values.
    case dictionary
}

extension Optional: JSONContainer {
    static var form: JSONContainerForm { .optional }
    static var parts: [any Any.Type] { [Wrapped.self] }
}

extension Array: JSONContainer {
    static var form: JSONContainerForm { .list }
    static var parts: [any Any.Type] { [Element.self] }
}

extension ContiguousArray: JSONContainer {
    static var form: JSONContainerForm { .list }
    static var parts: [any Any.Type] { [Element.self] }
}

extension Set: JSONContainer {
    static var form: JSONContainerForm { .list }
    static var parts: [any Any.Type] { [Element.self] }
}

extension Dictionary: JSONContainer {
    static var form: JSONContainerForm { .dictionary }
    static var parts: [any Any.Type] { [Key.self, Value.self] }
}

extension Pulse: JSONContainer {
    static var form: JSONContainerForm { .bare }
    static var parts: [any Any.Type] { [Value.self] }
}

/// Marks an enum whose JSON contains the case's name in `type`, beside the case's fields.
///
/// Swift synthesises `{"alert":{"message":"Hello"}}` for an enum; this project's JSON coder writes
/// and reads a conforming enum as `{"type":"alert","message":"Hello"}`. Conformance needs no code,
/// and other coders (such as `JSONEncoder`) use Swift's own form:
///
/// ```swift
/// enum Action: TaggedCodable {
///     case alert(message: String?)     // {"type":"alert","message":"Hello"}
///     case doSomeAction                // {"type":"doSomeAction"}
/// }
/// ```
///
/// Swift names an associated value without a label `_0`, `_1`, … The mechanism of SE-0295 can
/// rename it, and the case too:
///
/// ```swift
/// enum Action: TaggedCodable {
///     case alert(String?)
///     enum AlertCodingKeys: String, CodingKey { case _0 = "message" }
/// }
/// ```
///
/// - `type` is written first, and may be anywhere when read.
/// - A missing optional value is `nil`; fields that the case does not have are ignored.
/// - No field of a case may itself be called `type`: encoding and decoding such a case fails
///   with an error.
/// - A `type` that names no case is refused. If the enum's own `CodingKeys` are `CaseIterable`, the
///   refusal lists them.
/// - An enum with raw values is encoded as its raw value: the marker changes nothing.
/// - A struct or a class that conforms, or an enum with a hand-written coding in another shape than
///   Swift's, fails to encode and decode with an error.
/// - The marker is detected if the coder gets the value itself: as the root, or as a field, element
///   or wrapped value. A direct call of `init(from:)` with another type's decoder reads Swift's
///   form.
///
/// Source:
/// [SE-0295](https://github.com/swiftlang/swift-evolution/blob/main/proposals/0295-codable-synthesis-for-enums-with-associated-values.md).
public protocol TaggedCodable: Codable {}

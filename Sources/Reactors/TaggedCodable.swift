/// Marks an enum whose JSON says its case beside the case's fields, in `type`.
///
/// Swift synthesises `{"alert":{"message":"Hello"}}` for an enum; this project's JSON coder
/// writes and reads a conforming one as `{"type":"alert","message":"Hello"}`. Nothing is to be
/// implemented, and other coders (`JSONEncoder`, for one) see Swift's own form:
///
/// ```swift
/// enum Action: TaggedCodable {
///     case alert(message: String?)     // {"type":"alert","message":"Hello"}
///     case doSomeAction                // {"type":"doSomeAction"}
/// }
/// ```
///
/// An associated value without a label is called `_0`, `_1`, … by Swift. SE-0295's own means
/// give it a name, and the case too:
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
/// - A `type` that is none of the cases is refused. Where the enum's own `CodingKeys` are
///   `CaseIterable` the refusal lists them.
/// - An enum with raw values is coded as its raw value: the marker changes nothing.
/// - A struct or a class that conforms, or an enum that is coded by hand in another shape than
///   Swift's, fails to encode and decode with an error.
/// - The marker is detected when the coder gets the value itself: as the root, or as a field, element
///   or wrapped value. `init(from:)` called by hand with another type's decoder reads Swift's form.
///
/// Source: [SE-0295](https://github.com/swiftlang/swift-evolution/blob/main/proposals/0295-codable-synthesis-for-enums-with-associated-values.md).
public protocol TaggedCodable: Codable {}

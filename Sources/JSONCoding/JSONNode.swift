/// One value (or key) of a scanned document: where it stands, and where the next one does.
///
/// Design: nodes lie in document order. An object's are key, value, key, value, …; what is
/// inside a container follows it at once. So `next` skips a whole value, and no child lists exist.
struct JSONNode {
    enum Kind: UInt8 {
        case null, `false`, `true`, number, string, array, object
    }

    let kind: Kind
    /// Strings: has an escape. Numbers: has a fraction or an exponent.
    var isComplex = false
    /// The first byte of the value; of a string, the one after its quote.
    let start: UInt32
    /// The byte after the value; of a string, its closing quote.
    var end: UInt32
    /// The index of the first node that is not part of this value.
    var next: UInt32
    /// The container's index; the root's is its own, 0.
    let parent: UInt32
    /// The place among the container's elements or members, from 0.
    let ordinal: UInt32
    /// Elements of an array, members of an object.
    var count: UInt32 = 0

    /// The name of the value in a refusal.
    var phrase: String {
        switch kind {
        case .null: "null"
        case .false, .true: "a boolean"
        case .number: "a number"
        case .string: "a string"
        case .array: "an array"
        case .object: "an object"
        }
    }
}

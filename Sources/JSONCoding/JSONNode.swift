/// One value (or key) of a scanned document: its range, and the index of the next value.
///
/// Design: nodes are in document order. An object's nodes are key, value, key, value, …; a
/// container's content follows it. So `next` skips a value, and no child lists exist.
struct JSONNode {
    enum Kind: UInt8 {
        case null, `false`, `true`, number, string, array, object
    }

    let kind: Kind
    /// Whether a string has an escape, or a number a fraction or an exponent.
    var isComplex = false
    /// The first byte of the value; for a string, the one after its opening quote.
    let start: UInt32
    /// The byte after the value; for a string, its closing quote.
    var end: UInt32
    /// The index of the first node that is not part of this value.
    var next: UInt32
    /// The index of the container; the root has its own index, 0.
    let parent: UInt32
    /// The index among the container's elements or members, from 0.
    let ordinal: UInt32
    /// The number of an array's elements or an object's members.
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

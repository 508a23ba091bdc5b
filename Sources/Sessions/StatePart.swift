internal import JSONCoding

/// `?select=`: one part of an encoded state.
enum StatePart {
    /// The bytes of the value that the pointer names (RFC 6901); nil if there is none.
    static func slice(_ pointer: JSONPointer, of state: [UInt8]) -> [UInt8]? {
        JSON.slice(pointer, of: state).map { Array(state[$0]) }
    }
}

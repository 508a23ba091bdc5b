internal import JSONCoding

/// `?select=`: one part of an encoded state.
enum StatePart {
    /// The bytes of the value that the pointer names (RFC 6901); nil if there is none.
    static func slice(_ pointer: JSONPointer, of state: [UInt8]) -> [UInt8]? {
        JSON.slice(pointer, of: state).map { Array(state[$0]) }
    }
}

/// A state as clients see it at one version, with the parts that the streams of its session show.
///
/// Design: the state is encoded once for all streams of its session, and searched once for all
/// their pointers. A part is a view of the bytes.
final class ShownVersion {
    let bytes: ArraySlice<UInt8>
    private let pointers: () -> [JSONPointer]
    /// Nil before the first part is asked for.
    private var found: (state: [UInt8], parts: JSONParts)?

    /// - Parameter pointers: those for which ``part(_:)`` may be called.
    init(_ bytes: ArraySlice<UInt8>, for pointers: @escaping () -> [JSONPointer]) {
        self.bytes = bytes
        self.pointers = pointers
    }

    convenience init(_ bytes: [UInt8], for pointer: JSONPointer? = nil) {
        self.init(bytes[...]) { pointer.map { [$0] } ?? [] }
    }

    /// The part of the state that the pointer names; nil if there is none.
    func part(_ pointer: JSONPointer) -> ArraySlice<UInt8>? {
        let present: (state: [UInt8], parts: JSONParts)
        if let found {
            present = found
        } else {
            let state = Array(bytes)
            present = (state, JSONParts(pointers(), of: state))
            found = present
        }
        return present.parts[pointer].map { present.state[$0] }
    }
}

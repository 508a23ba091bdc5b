/// The bytes that a reader's connection has not accepted, in order.
///
/// Why pieces: readers share the bytes of a large state, and all bytes in one array would be a copy
/// of it for each reader.
struct UnsentBytes {
    struct Piece {
        fileprivate(set) var bytes: ArraySlice<UInt8>
        /// Counts the bytes, if they are many.
        fileprivate let charge: AnyObject?
    }

    /// Invariant: none is empty.
    private(set) var pieces: [Piece] = []

    var isEmpty: Bool { pieces.isEmpty }
    var count: Int { pieces.reduce(0) { $0 + $1.bytes.count } }
    var first: ArraySlice<UInt8>? { pieces.first?.bytes }
    /// That of the first bytes, if they are counted by themselves.
    var firstCharge: WorkCharge? { pieces.first?.charge as? WorkCharge }

    /// - Parameter charge: is held until the bytes are dropped.
    mutating func append(_ bytes: ArraySlice<UInt8>, of charge: AnyObject? = nil) {
        guard !bytes.isEmpty else { return }
        // Few bytes are copied, so that they are written together with those before them.
        if let last = pieces.indices.last,
            pieces[last].bytes.count + bytes.count <= WorkBudget.smallestBytes
        {
            pieces[last].bytes += bytes
        } else {
            pieces.append(Piece(bytes: bytes, charge: charge))
        }
    }

    /// Drops bytes of the first piece, which the connection has accepted.
    mutating func drop(_ count: Int) {
        guard !pieces.isEmpty else { return }
        pieces[0].bytes = pieces[0].bytes.dropFirst(count)
        if pieces[0].bytes.isEmpty { pieces.removeFirst() }
    }
}

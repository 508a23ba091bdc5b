/// Bytes to send, in order.
///
/// Design: a list of slices, so that a large body is never copied. The list is short: the pieces of
/// one turn and of one later response, because no other request is served before they are sent
/// (``ConnectionOutput/hasRoom``).
struct UnsentBytes {
    private(set) var pieces: [ArraySlice<UInt8>] = []

    var isEmpty: Bool { pieces.isEmpty }

    var count: Int { pieces.reduce(0) { $0 + $1.count } }

    /// Appends the bytes and shares their storage.
    mutating func append(_ piece: ArraySlice<UInt8>) {
        if !piece.isEmpty { pieces.append(piece) }
    }

    mutating func removeFirst(_ count: Int) {
        var left = count
        var whole = 0
        while whole < pieces.count, pieces[whole].count <= left {
            left -= pieces[whole].count
            whole += 1
        }
        pieces.removeFirst(whole)
        if left > 0, !pieces.isEmpty { pieces[0] = pieces[0].dropFirst(left) }
    }
}

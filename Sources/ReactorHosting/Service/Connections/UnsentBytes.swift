/// Bytes that the kernel did not take, in their order.
///
/// Design: a list of slices, so that a large body is kept in the array it was made in, which may be
/// shared by many connections, and is never copied behind what is kept already. It stays short: no
/// further request of a connection is carried out while it has unsent bytes (``HTTPConnection/continueReading()``),
/// so it holds what one turn has made and one answer that came later.
struct UnsentBytes {
    private(set) var pieces: [ArraySlice<UInt8>] = []

    var isEmpty: Bool { pieces.isEmpty }

    /// How many bytes there are.
    var count: Int { pieces.reduce(0) { $0 + $1.count } }

    /// Keeps the bytes behind all others; shares their storage.
    mutating func append(_ piece: ArraySlice<UInt8>) {
        if !piece.isEmpty { pieces.append(piece) }
    }

    /// Forgets the first `count` bytes, which were sent.
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

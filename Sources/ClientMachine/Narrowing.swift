/// The search for the action that makes a batch unfit (O5).
///
/// A refused batch had no effect. It is halved until only the faulty send is left.
struct Narrowing: Equatable, Sendable {
    /// The numbers of sends in the next requests. Later batches are of any size again. Invariant:
    /// none is 0. They cover the current request, if narrowed, and then the queue.
    private var pieces: [Int] = []

    /// The most sends that the next request may have; nil: any number.
    var most: Int? { pieces.first }

    /// The current request was refused with this number of sends, which wait again.
    mutating func halve(_ count: Int) {
        finish(count)
        let first = (count + 1) / 2
        pieces.insert(contentsOf: [first, count - first].filter { $0 > 0 }, at: 0)
    }

    /// The current request with this number of sends is settled.
    mutating func finish(_ count: Int) {
        guard let piece = pieces.first else { return }
        if piece > count { pieces[0] = piece - count } else { pieces.removeFirst() }
    }

    /// The send at this index of the lane, the current request's sends included, was taken back.
    mutating func discard(at index: Int) {
        var end = 0
        for piece in pieces.indices {
            end += pieces[piece]
            guard index < end else { continue }
            pieces[piece] -= 1
            if pieces[piece] == 0 { pieces.remove(at: piece) }
            return
        }
    }
}

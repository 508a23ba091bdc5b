internal import Reactors
import Synchronization

/// Someone who is told the values of a storage.
struct Subscription<Value> {
    /// Tells a value and answers whether there is someone to tell the next one to.
    let take: (Value) -> Bool

    /// Whether nobody is there any more, though nothing was told since.
    var isGone: () -> Bool = { false }

    /// The storage is gone.
    var finish: () -> Void = {}
}

extension Subscription where Value: Sendable {
    /// A stream's end at the storage.
    init(_ feed: ReactorStream<Value>.Feed) {
        // Why a flag and not a removal: a reader leaves on whatever thread it is on, and a storage
        // belongs to one isolation, unknown to it.
        let departure = Departure()
        feed.whenAbandoned { departure.note() }
        self.init(
            take: { feed.push($0) }, isGone: { departure.isNoted }, finish: { feed.finish() })
    }
}

/// Set once, when a reader has left.
final class Departure: Sendable {
    private let hasLeft = Atomic(false)

    var isNoted: Bool { hasLeft.load(ordering: .relaxed) }

    func note() { hasLeft.store(true, ordering: .relaxed) }
}

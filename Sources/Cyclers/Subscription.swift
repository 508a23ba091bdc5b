internal import Reactors
import Synchronization

struct Subscription<Value> {
    /// Delivers a value; returns whether the subscriber wants the next one.
    let take: (Value) -> Bool

    /// Whether the subscriber has left since the last delivery.
    var isGone: () -> Bool = { false }

    /// Called when the storage is released.
    var finish: () -> Void = {}
}

extension Subscription where Value: Sendable {
    init(_ feed: ReactorStream<Value>.Feed) {
        // Why a flag and not a removal: a reader leaves on any thread, while a storage belongs to
        // one isolation, which the reader does not know.
        let departure = Departure()
        feed.whenAbandoned { departure.markLeft() }
        self.init(
            take: { feed.push($0) }, isGone: { departure.hasLeft }, finish: { feed.finish() })
    }
}

/// A flag that is set once, when a reader has left.
final class Departure: Sendable {
    private let left = Atomic(false)

    var hasLeft: Bool { left.load(ordering: .relaxed) }

    func markLeft() { left.store(true, ordering: .relaxed) }
}

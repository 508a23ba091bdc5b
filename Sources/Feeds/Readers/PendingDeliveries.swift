internal import DequeModule

/// The limits of the deliveries of one pass of a loop, in writes to connections. A write takes some
/// ten microseconds, as much as an answer.
package struct DeliveryLimits: Sendable {
    /// Deliveries of a pass that answers requests.
    package var besideAnswers = 16
    /// Deliveries of a pass without answers, before the loop looks for requests again.
    package var alone = 64
    /// Deliveries that wait for later passes. What exceeds them is delivered at once.
    package var waiting = 512

    package init() {}
}

/// Subscribers of a loop to which events are delivered in one of the next passes.
///
/// Design (ADR-0056): one event may go to many readers, while its answer goes to one client. Under
/// load, a pass with all deliveries would take long, and would delay the requests of the next pass.
/// So a pass makes some deliveries, and the rest follows in the next passes, in order. The rest is
/// bounded: requests that cause more events than the loop can deliver are slowed down.
///
/// Invariant: only deliveries know which subscribers wait. Any other code that changes a stream, or
/// a subscriber's place in it, delivers first (``SharedStream/deliverPending()``).
package final class PendingDeliveries {
    private var waiting: Deque<Subscriber> = []
    /// In this pass.
    private var delivered = 0
    private var hasAnswered = false

    /// The number of deliveries that wait, at most: some may have been made meanwhile.
    package var count: Int { waiting.count }

    /// An answer was sent in this pass.
    package func answered() { hasAnswered = true }

    /// Writes the stream's new bytes to its live subscribers whose connections accept bytes, now or
    /// in one of the next passes. No subscriber waits for the connection of another.
    package func deliver(
        _ stream: SharedStream, _ limits: DeliveryLimits, to output: any ReaderOutput
    ) {
        let newest = stream.newestChunk
        for subscriber in stream.subscribers where subscriber.isDue(newest) {
            if subscriber.isRemote {
                subscriber.deliverAtEndOfRound()
            } else if waiting.isEmpty, delivered < limits.besideAnswers {
                delivered += 1
                subscriber.deliver(newest, to: output)
            } else if !subscriber.isPending {
                subscriber.isPending = true
                waiting.append(subscriber)
            }
        }
    }

    /// Ends a pass: makes the deliveries that it has room for, and those beyond the limit.
    package func endPass(_ limits: DeliveryLimits) {
        let room = (hasAnswered ? limits.besideAnswers : limits.alone) - delivered
        makeNext(max(room, waiting.count - limits.waiting))
        delivered = 0
        hasAnswered = false
    }

    /// Makes all deliveries, because the process ends.
    package func makeAll() { makeNext(waiting.count) }

    private func makeNext(_ number: Int) {
        var left = number
        while left > 0, let subscriber = waiting.popFirst() {
            guard subscriber.isPending else { continue }
            left -= 1
            subscriber.deliverPending()
        }
    }
}

/// The connections of a loop's readers: the layer above, on the loop of the feeds.
///
/// Invariant: no method calls the feed that it is called from.
package protocol ReaderOutput: AnyObject {
    /// Writes to the subscriber's connection, and returns the number of bytes that it accepted. If
    /// that is fewer than given, ``Subscriber/resume()`` is called when there is room.
    func write(_ bytes: Span<UInt8>, to subscriber: UInt64) -> Int

    /// Closes the connection of a subscriber that has everything, because the session has ended.
    func finish(_ subscriber: Subscriber)

    /// Closes the connection of a subscriber, with the problem that there is no room for what it
    /// needs (``WorkBudget``). The subscriber is cancelled.
    func refuse(_ subscriber: Subscriber)

    /// The client of a request or a stream, for its share of the ``WorkBudget``; nil: it has none.
    func client(of token: UInt64) -> WorkClient?

    /// Moves the connection of a subscriber that has everything to another loop, where
    /// ``StreamReplicas/adopt(_:as:in:)`` continues it.
    func move(_ subscriber: Subscriber, to loop: Int, _ opening: ReplicaOpening) -> ReaderMove
}

public import Reactors

/// A storage that can be read and observed: a ``Storage``, or one derived from it.
///
/// Other types cannot conform: only this module makes a ``StorageReading``.
public protocol ReadableStorage<Value> {
    associatedtype Value

    /// Access to the underlying storage.
    var reading: StorageReading<Value> { get }
}

/// Access to a storage's value and its subscribers.
public struct StorageReading<Value> {
    let value: () -> Value
    let subscribe: (Subscription<Value>) -> StorageToken
    let unsubscribe: (StorageToken) -> Void
}

extension ReadableStorage {
    /// Calls `subscriber` with every value from now on, equal ones too, but not at once.
    ///
    /// It is called in the storage's isolation, after the commit that wrote, for every version once
    /// and in order; it may write, and add and remove subscribers.
    ///
    /// - Returns: a token for removing it. Otherwise it stays as long as the storage, together with
    ///   the objects that its closure retains: a closure that writes to its cycler should hold it
    ///   weakly.
    @discardableResult
    public func add(subscriber: @escaping (Value) -> Void) -> StorageToken {
        reading.subscribe(
            Subscription(take: {
                subscriber($0)
                return true
            }))
    }

    /// Ends a subscription: it is not called again, even during a delivery.
    ///
    /// Does nothing for a token that is unknown or was removed before.
    public func remove(subscriber token: StorageToken) { reading.unsubscribe(token) }

    /// A storage derived from this one: its value is `transform` applied to this one's.
    ///
    /// ```swift
    /// let texts = viewModel.state.map(\.countText).distinct()
    /// ```
    ///
    /// It keeps nothing but the way to this storage; `transform` is called whenever it is read, and
    /// for every subscriber when something was written.
    public func map<Part>(_ transform: @escaping (Value) -> Part) -> DerivedStorage<Part> {
        let origin = reading
        return DerivedStorage(
            StorageReading(
                value: { transform(origin.value()) },
                subscribe: { subscription in
                    origin.subscribe(
                        Subscription(
                            take: { subscription.take(transform($0)) },
                            isGone: subscription.isGone, finish: subscription.finish))
                },
                unsubscribe: origin.unsubscribe))
    }

    /// The same value, notified only when it differs from the previous one.
    public func distinct() -> DerivedStorage<Value> where Value: Equatable {
        let origin = reading
        return DerivedStorage(
            StorageReading(
                value: origin.value,
                subscribe: { subscription in
                    var last = origin.value()
                    return origin.subscribe(
                        Subscription(
                            take: { value in
                                guard value != last else { return true }
                                last = value
                                return subscription.take(value)
                            },
                            isGone: subscription.isGone, finish: subscription.finish))
                },
                unsubscribe: origin.unsubscribe))
    }

    /// The value: now, then once per version, even if equal. Ends with the storage.
    ///
    /// Inside a commit, it begins with the working copy.
    ///
    /// - Parameter limit: how far the reader may fall behind. Default: 256 values; at the limit it
    ///   gets `ReaderTooSlow` after those.
    public func values(buffer limit: Int = 256) -> ReactorStream<Value> where Value: Sendable {
        let (stream, feed) = ReactorStream<Value>.make(buffer: limit)
        _ = feed.push(reading.value())
        _ = reading.subscribe(Subscription(feed))
        return stream
    }

    /// A part of the value: now, then whenever it changes; also for computed properties.
    ///
    /// - Parameters:
    ///   - part: reads the part from the value.
    ///   - limit: as for ``values(buffer:)``.
    public func changed<Part: Equatable & Sendable>(
        _ part: @escaping (Value) -> Part, buffer limit: Int = 256
    ) -> ReactorStream<Part> {
        map(part).distinct().values(buffer: limit)
    }
}

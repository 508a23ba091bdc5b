public import Reactors

/// A storage that can be read and observed: a ``Storage``, or a storage derived from one.
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
    /// Calls `subscriber` with every later value, including equal ones; not with the current value.
    ///
    /// It is called in the storage's isolation, after the commit that wrote, for every version once
    /// and in order; it may write, and may add and remove subscribers.
    ///
    /// - Returns: A token for removing the subscriber. Unless it is removed, it stays as long as
    ///   the storage, together with the objects that its closure retains: a closure that writes to
    ///   its cycler should hold the cycler weakly.
    @discardableResult
    public func add(subscriber: @escaping (Value) -> Void) -> StorageToken {
        reading.subscribe(
            Subscription(take: {
                subscriber($0)
                return true
            }))
    }

    /// Ends a subscription: the subscriber is not called again, even during a delivery.
    ///
    /// Has no effect for a token that is unknown or was removed before.
    public func remove(subscriber token: StorageToken) { reading.unsubscribe(token) }

    /// A storage derived from this one: its value is `transform` applied to this one's.
    ///
    /// ```swift
    /// let texts = viewModel.state.map(\.countText).distinct()
    /// ```
    ///
    /// It stores only a reference to this storage; `transform` is called at each read, and for
    /// every subscriber after each write.
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
        distinct { $0 }
    }

    /// The same value, notified only when a part of it differs: RxSwift's
    /// `distinctUntilChanged(\.name)`.
    ///
    /// - Parameter key: Reads the part that is compared.
    public func distinct<Key: Equatable>(by key: @escaping (Value) -> Key) -> DerivedStorage<Value>
    {
        let origin = reading
        return DerivedStorage(
            StorageReading(
                value: origin.value,
                subscribe: { subscription in
                    var last = key(origin.value())
                    return origin.subscribe(
                        Subscription(
                            take: { value in
                                let present = key(value)
                                guard present != last else { return true }
                                last = present
                                return subscription.take(value)
                            },
                            isGone: subscription.isGone, finish: subscription.finish))
                },
                unsubscribe: origin.unsubscribe))
    }

    /// The current value, then one per version, even if it is equal. Ends with the storage.
    ///
    /// Inside a commit, it starts with the working copy.
    ///
    /// - Parameter limit: The number of values by which the reader may be behind. Default: 256;
    ///   beyond it the reader gets `ReaderTooSlow` after those.
    public func values(buffer limit: Int = 256) -> ReactorStream<Value> where Value: Sendable {
        let (stream, feed) = ReactorStream<Value>.make(buffer: limit)
        _ = feed.push(reading.value())
        _ = reading.subscribe(Subscription(feed))
        return stream
    }

    /// A part of the value: its current value, then each change; also for computed properties.
    ///
    /// - Parameters:
    ///   - part: Reads the part from the value.
    ///   - limit: As for ``values(buffer:)``.
    public func changed<Part: Equatable & Sendable>(
        _ part: @escaping (Value) -> Part, buffer limit: Int = 256
    ) -> ReactorStream<Part> {
        map(part).distinct().values(buffer: limit)
    }
}

// RxSwift's names for effects. `Observable.just(…)` in a reactor's `mutate` is an effect of that
// reactor, so that a body ported from ReactorKit stays unchanged.

extension Reactor {
    /// An effect of this reactor, under RxSwift's name for the result of `mutate`.
    ///
    /// ```swift
    /// func mutate(action: Action) -> Observable<Mutation> {
    ///     Observable.concat([Observable.just(.setLoading(true)), Observable.just(.increaseValue)])
    /// }
    /// ```
    ///
    /// It has the operators of ``ReactorEffect`` and no others: it is a value that describes work,
    /// and not a stream.
    public typealias Observable<Change: Sendable> = Effect<Change>
}

extension ReactorEffect {
    /// Waits on the session's clock, then runs this effect.
    ///
    /// The wait is an asynchronous step without a name: it ends with the session, and later parts
    /// of a `concat` wait for it. Equals RxSwift's `delay(_:scheduler:)` without the scheduler.
    ///
    /// - Parameter time: The duration; with zero or less the effect is still asynchronous.
    public func delay(_ time: Duration) -> ReactorEffect {
        .concat(.run { send in try await send.clock.sleep(for: time) }, self)
    }
}

// A reader is registered before the call returns: it misses no later event. States and pulses start
// with the current value (as in ReactorKit), activities and failures do not.

extension ReactorHost {
    /// The shown state: the current one, then one per version, even if it is equal.
    ///
    /// - Parameter limit: how far the reader may fall behind. Default: 256 states.
    public func state(buffer limit: Int = 256) -> ReactorStream<R.State> {
        let (stream, feed) = ReactorStream<R.State>.make(buffer: limit)
        let state = currentState
        register(feed, first: state) { state, _ in feed.push(state) }
        return stream
    }

    /// A part of the state: its current value, then each change; also for computed properties.
    ///
    /// - Parameters:
    ///   - path: the path to the part.
    ///   - limit: how far the reader may fall behind. Default: 256 values.
    public func state<Part: Equatable & Sendable>(
        _ path: any KeyPath<R.State, Part> & Sendable, buffer limit: Int = 256
    ) -> ReactorStream<Part> {
        let (stream, feed) = ReactorStream<Part>.make(buffer: limit)
        var last = currentState[keyPath: path]
        register(feed, first: last) { state, _ in
            let part = state[keyPath: path]
            guard part != last else { return true }
            last = part
            return feed.push(part)
        }
        return stream
    }

    /// The value of a pulse: the current one, then one for every assignment, even if equal.
    ///
    /// ```swift
    /// let alerts = await host.pulse(\.$alertMessage)
    /// ```
    ///
    /// Two assignments by one mutation are one element with the last value.
    ///
    /// - Parameters:
    ///   - path: the pulse, `\.$alertMessage`.
    ///   - limit: how far the reader may fall behind. Default: 256 values.
    public func pulse<Value: Sendable>(
        _ path: any KeyPath<R.State, Pulse<Value>> & Sendable, buffer limit: Int = 256
    ) -> ReactorStream<Value> {
        let (stream, feed) = ReactorStream<Value>.make(buffer: limit)
        let present = currentState[keyPath: path]
        var last = present.mark
        register(feed, first: present.value) { state, cause in
            let pulse = state[keyPath: path]
            defer { last = pulse.mark }
            // At the end of a stub, pulses have their old marks again.
            guard cause == .change, pulse.mark.isAssignment(since: last) else { return true }
            return feed.push(pulse.value)
        }
        return stream
    }

    /// The activities from now on.
    ///
    /// - Parameter limit: how far the reader may fall behind. Default: 256 activities.
    public func activities(buffer limit: Int = 256) -> ReactorStream<R.Activity> {
        stream(buffer: limit) { observer.add($0) }
    }

    /// The errors of user code in this session from now on.
    ///
    /// - Parameter limit: how far the reader may fall behind. Default: 256 failures.
    public func failures(buffer limit: Int = 256) -> ReactorStream<ReactorFailure> {
        stream(buffer: limit) { observer.add($0) }
    }

    private func register<Element>(
        _ feed: ReactorStream<Element>.Feed, first: Element,
        _ receive: @escaping (R.State, HostObserver<R>.StateReader.Cause) -> Bool
    ) {
        guard feed.push(first), !isEnded else { return feed.finish() }
        forgetWhenAbandoned(
            feed, observer.add(.init(receive: receive, finish: { feed.finish() })))
    }

    /// A stream of what comes from now on: empty if the session has ended.
    func stream<Element>(
        buffer limit: Int, _ add: (ReactorStream<Element>.Feed) -> UInt64
    ) -> ReactorStream<Element> {
        let (stream, feed) = ReactorStream<Element>.make(buffer: limit)
        if isEnded { feed.finish() } else { forgetWhenAbandoned(feed, add(feed)) }
        return stream
    }

    private func forgetWhenAbandoned<Element>(
        _ feed: ReactorStream<Element>.Feed, _ reader: UInt64
    ) {
        feed.whenAbandoned { [weak self] in
            guard let self else { return }
            Task { await self.forget(reader) }
        }
    }
}

#if os(Linux)
    /// The receivers that were called since the last round of the thread has ended.
    final class CurlRound {
        /// Invariant: bounded by the requests under way.
        private var receivers: [any RoundReceiver] = []

        /// - Parameter receiver: nil: one that does not ask for the ends of rounds.
        func add(_ receiver: (any RoundReceiver)?) {
            guard let receiver, receivers.last !== receiver else { return }
            receivers.append(receiver)
        }

        func end(_ receiver: any TransportReceiver, _ failure: TransportFailure?) {
            add(receiver as? any RoundReceiver)
            receiver.ended(failure)
        }

        func end() {
            for receiver in receivers { receiver.roundEnded() }
            receivers.removeAll(keepingCapacity: receivers.count <= 16)
        }
    }
#endif

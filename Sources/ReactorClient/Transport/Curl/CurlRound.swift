#if os(Linux)
    /// The receivers that were called since the last round of the thread has ended.
    final class CurlRound {
        /// Invariant: bounded by the requests under way.
        private var receivers: [any RoundReceiver] = []

        func add(_ receiver: any TransportReceiver) {
            guard let receiver = receiver as? any RoundReceiver, receivers.last !== receiver else {
                return
            }
            receivers.append(receiver)
        }

        func end(_ receiver: any TransportReceiver, _ failure: TransportFailure?) {
            add(receiver)
            receiver.ended(failure)
        }

        func end() {
            for receiver in receivers { receiver.roundEnded() }
            receivers = []
        }
    }
#endif

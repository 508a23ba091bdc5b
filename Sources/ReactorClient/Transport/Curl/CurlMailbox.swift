#if os(Linux)
    internal import CClientCurl
    internal import Synchronization

    /// How other threads reach the one that has libcurl's handles.
    ///
    /// Without its lock a wake-up could use the multi handle while the thread frees it.
    final class CurlMailbox: Sendable {
        enum Command: Sendable {
            case start(CurlHandle, TransportRequest, any TransportReceiver)
            case resume(UInt64)
            case cancel(UInt64)
        }

        private struct Contents {
            /// The address of the multi handle, which the thread owns; 0 once it has ended.
            var multi: UInt
            /// Invariant: at most one `start` for each of `requestCount`, and as many other commands as
            /// handles are called between two rounds of the thread.
            var commands: [Command] = []
            var isStopping = false
            /// Whether a wake-up is on its way.
            var isRung = false
            /// Requests that have not ended.
            var requestCount = 0
            var lastNumber: UInt64 = 0

            mutating func ring() {
                guard !isRung, let multi = unsafe UnsafeMutableRawPointer(bitPattern: multi) else {
                    return
                }
                isRung = true
                _ = unsafe curl_multi_wakeup(multi)
            }
        }

        private let contents: Mutex<Contents>
        private let limit: Int

        init(_ multi: UnsafeMutableRawPointer, limit: Int) {
            contents = Mutex(Contents(multi: UInt(bitPattern: multi)))
            self.limit = limit
        }

        /// - Returns: a failure if the request does not begin; the receiver does not know it yet.
        func start(
            _ request: TransportRequest, _ receiver: any TransportReceiver
        ) -> (CurlHandle, TransportFailure?) {
            contents.withLock { contents in
                contents.lastNumber += 1
                let handle = CurlHandle(contents.lastNumber, self)
                guard contents.requestCount < limit else {
                    let text = "\(limit) requests are under way, which is the limit"
                    return (handle, TransportFailure(.exhausted, text))
                }
                contents.requestCount += 1
                contents.commands.append(.start(handle, request, receiver))
                contents.ring()
                return (handle, nil)
            }
        }

        func post(_ command: Command) {
            contents.withLock { contents in
                guard contents.multi != 0 else { return }
                contents.commands.append(command)
                contents.ring()
            }
        }

        /// Has the thread end.
        func stop() {
            contents.withLock { contents in
                contents.isStopping = true
                contents.ring()
            }
        }

        // MARK: For the thread

        /// The commands since the last call; nil: the thread has to end.
        func dequeue() -> [Command]? {
            contents.withLock { contents in
                contents.isRung = false
                if contents.isStopping { return nil }
                defer { contents.commands = [] }
                return contents.commands
            }
        }

        func requestEnded() { contents.withLock { $0.requestCount -= 1 } }

        /// Nothing reaches the multi handle afterwards.
        ///
        /// - Returns: the commands that are left.
        func close() -> [Command] {
            contents.withLock { contents in
                contents.multi = 0
                defer { contents.commands = [] }
                return contents.commands
            }
        }
    }

    /// One request, for those that have started it.
    final class CurlHandle: TransportHandle {
        let number: UInt64
        private let mailbox: CurlMailbox
        private let wasCancelled = Atomic(false)

        init(_ number: UInt64, _ mailbox: CurlMailbox) {
            self.number = number
            self.mailbox = mailbox
        }

        /// Read before each call of the receiver: a cancelled request may have bytes that libcurl has
        /// read already.
        var isCancelled: Bool { wasCancelled.load(ordering: .acquiring) }

        func resume() { mailbox.post(.resume(number)) }

        func cancel() {
            guard !wasCancelled.exchange(true, ordering: .acquiringAndReleasing) else { return }
            mailbox.post(.cancel(number))
        }
    }
#endif

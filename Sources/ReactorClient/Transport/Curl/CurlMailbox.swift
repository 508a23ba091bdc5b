#if os(Linux)
    internal import CClientCurl
    internal import Glibc
    internal import Synchronization

    /// How other threads reach the one that has libcurl's handles.
    ///
    /// Its bell is a descriptor of its own and not `curl_multi_wakeup`, which would need a lock:
    /// without one it could use the multi handle while the thread frees it. A thread that is woken
    /// under a lock begins with a wait for that lock.
    final class CurlMailbox: Sendable {
        enum Command: Sendable {
            case start(CurlHandle, TransportRequest, any TransportReceiver)
            case resume(UInt64)
            case cancel(UInt64)
        }

        private struct Contents {
            /// Invariant: at most one `start` for each of `requestCount`, and as many other
            /// commands as handles are called between two rounds of the thread.
            var commands: [Command] = []
            var isStopping = false
            /// Whether the thread has ended.
            var isClosed = false
            /// Whether the bell is rung, and the thread has not looked since.
            var isRung = false
            var requestCount = 0
            var lastNumber: UInt64 = 0

            /// - Returns: whether the caller has to ring, once it has left the lock.
            mutating func shouldRing() -> Bool {
                defer { isRung = true }
                return !isRung
            }
        }

        private let contents = Mutex(Contents())
        private let limit: Int
        /// The thread waits for this descriptor (eventfd(2)) beside libcurl's.
        let bell: Int32

        /// - Throws: if the system has no descriptor left.
        init(limit: Int) throws(TransportFailure) {
            self.limit = limit
            bell = eventfd(0, Int32(EFD_NONBLOCK | EFD_CLOEXEC))
            guard bell >= 0 else {
                throw TransportFailure(.exhausted, "no file descriptor is left: error \(errno)")
            }
        }

        deinit { _ = Glibc.close(bell) }

        private func ring() {
            var one: UInt64 = 1
            _ = unsafe write(bell, &one, 8)
        }

        /// - Returns: a failure if the request does not begin; the receiver does not know it yet.
        func start(
            _ request: TransportRequest, _ receiver: any TransportReceiver
        ) -> (CurlHandle, TransportFailure?) {
            let (handle, accepted) = contents.withLock { contents in
                contents.lastNumber += 1
                let handle = CurlHandle(contents.lastNumber, self)
                guard contents.requestCount < limit else { return (handle, nil as Bool?) }
                contents.requestCount += 1
                contents.commands.append(.start(handle, request, receiver))
                return (handle, contents.shouldRing())
            }
            guard let shouldRing = accepted else {
                let text = "\(limit) requests are under way, which is the limit"
                return (handle, TransportFailure(.exhausted, text))
            }
            if shouldRing { ring() }
            return (handle, nil)
        }

        func post(_ command: Command) {
            let shouldRing = contents.withLock { contents in
                guard !contents.isClosed else { return false }
                contents.commands.append(command)
                return contents.shouldRing()
            }
            if shouldRing { ring() }
        }

        /// Has the thread end.
        func stop() {
            let shouldRing = contents.withLock { contents in
                contents.isStopping = true
                return contents.shouldRing()
            }
            if shouldRing { ring() }
        }

        // MARK: For the thread

        /// The commands since the last call; nil: the thread has to end.
        ///
        /// - Parameter isRung: whether the bell has woken the thread.
        func dequeue(isRung: Bool) -> [Command]? {
            if isRung {
                var count: UInt64 = 0
                _ = unsafe read(bell, &count, 8)
            }
            return contents.withLock { contents in
                if isRung { contents.isRung = false }
                if contents.isStopping { return nil }
                defer { contents.commands = [] }
                return contents.commands
            }
        }

        func requestEnded() { contents.withLock { $0.requestCount -= 1 } }

        /// Nothing is posted afterwards. Returns the commands that are left.
        func close() -> [Command] {
            contents.withLock { contents in
                contents.isClosed = true
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

        /// Read before each call of the receiver: libcurl may have bytes of a cancelled request.
        var isCancelled: Bool { wasCancelled.load(ordering: .acquiring) }

        func resume() { mailbox.post(.resume(number)) }

        func cancel() {
            guard !wasCancelled.exchange(true, ordering: .acquiringAndReleasing) else { return }
            mailbox.post(.cancel(number))
        }
    }
#endif

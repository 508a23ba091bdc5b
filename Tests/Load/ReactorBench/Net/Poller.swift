// One epoll instance, level-triggered: one `recv` per wake-up, with a buffer larger than the data,
// is one call less per event than an edge-triggered read until EAGAIN.
#if os(Linux)
    import CEpoll
    import Glibc

    /// The readiness of a descriptor.
    struct Readiness {
        /// The token that was passed to `add`.
        var token: UInt64
        var isReadable: Bool
        var isWritable: Bool
    }

    /// Waits for many sockets at once.
    ///
    /// Memory-safe although `epoll_event` holds a union: this code writes and reads it as a number
    /// only.
    @safe struct Poller: ~Copyable {
        /// The readiness to wait for.
        enum Interest {
            case reading
            case readingAndWriting
            case writing
            /// Only errors and hang-ups: used for readers that have stalled.
            case nothing
        }

        private let descriptor: Int32
        private let isBusy: Bool
        private var events: [epoll_event]

        /// Opens the instance. `capacity` is the maximum number of events that one wait returns. An
        /// instance with `isBusy` never sleeps.
        init(capacity: Int = 1024, isBusy: Bool = false) throws(BenchError) {
            self.isBusy = isBusy
            descriptor = epoll_create1(0)
            guard descriptor >= 0 else { throw .system(operation: "epoll_create1", code: errno) }
            unsafe events = [epoll_event](repeating: epoll_event(), count: capacity)
        }

        deinit {
            close(descriptor)
        }

        /// Starts to watch a socket.
        func add(_ socket: Int32, token: UInt64, for interest: Interest) throws(BenchError) {
            try control(EPOLL_CTL_ADD, socket, token, interest)
        }

        /// Changes the readiness to wait for.
        func modify(_ socket: Int32, token: UInt64, for interest: Interest) throws(BenchError) {
            try control(EPOLL_CTL_MOD, socket, token, interest)
        }

        /// Waits until `deadline` (a `Clock` time) at the latest; returns the number of ready
        /// sockets.
        ///
        /// The wait needs nanoseconds: with milliseconds, an open-loop rate of 1000/s would be sent
        /// in bursts, and the lateness would be read as the server's latency.
        mutating func wait(until deadline: UInt64) throws(BenchError) -> Int {
            var count = 0
            repeat {
                let now = Clock.now()
                let rest = deadline > now ? deadline - now : 0
                count = try wait(nanoseconds: isBusy ? 0 : rest)
            } while isBusy && count == 0 && Clock.now() < deadline
            return count
        }

        private mutating func wait(nanoseconds rest: UInt64) throws(BenchError) -> Int {
            var timeout = timespec(
                tv_sec: Int(rest / 1_000_000_000), tv_nsec: Int(rest % 1_000_000_000))
            let count = unsafe events.withUnsafeMutableBufferPointer { buffer -> Int32 in
                unsafe epoll_pwait2(
                    descriptor, buffer.baseAddress, Int32(buffer.count), &timeout, nil)
            }
            guard count >= 0 || errno == EINTR else {
                throw .system(operation: "epoll_pwait2", code: errno)
            }
            return Int(max(count, 0))
        }

        /// The `index`th of the ready sockets.
        @inline(__always)
        func ready(_ index: Int) -> Readiness {
            let event = unsafe events[index]
            let flags = unsafe event.events
            let failing = EPOLLERR.rawValue | EPOLLHUP.rawValue
            return unsafe Readiness(
                token: event.data.u64,
                isReadable: flags & (EPOLLIN.rawValue | failing) != 0,
                isWritable: flags & (EPOLLOUT.rawValue | failing) != 0)
        }

        private func control(
            _ operation: Int32, _ socket: Int32, _ token: UInt64, _ interest: Interest
        ) throws(BenchError) {
            var event = unsafe epoll_event()
            unsafe event.data.u64 = token
            unsafe event.events =
                switch interest {
                case .reading: EPOLLIN.rawValue
                case .readingAndWriting: EPOLLIN.rawValue | EPOLLOUT.rawValue
                case .writing: EPOLLOUT.rawValue
                case .nothing: 0
                }
            guard unsafe epoll_ctl(descriptor, operation, socket, &event) == 0 else {
                throw .system(operation: "epoll_ctl", code: errno)
            }
        }
    }
#endif

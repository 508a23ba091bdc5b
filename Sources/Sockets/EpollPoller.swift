// epoll(7), edge-triggered, with all directions registered once: a connection costs no system calls
// but its reads and writes. One Dispatch source wakes the loop for the epoll descriptor, which it
// watches level-triggered: an event left there wakes the loop again.
#if os(Linux)
    import CEpoll
    import Dispatch
    import Glibc

    /// All connections of a loop in one epoll instance, under one Dispatch source.
    @safe final class EpollPoller: Poller {
        /// Events read by one system call; 12 bytes each.
        private static let capacity = 512

        // EPOLLET is 1 << 31, which C imports as a signed or an unsigned number. EPOLLPRI covers
        // TCP's urgent data: recv(2) stops short at the mark, which is not "drained".
        private static let interest =
            EPOLLIN.rawValue | EPOLLOUT.rawValue | EPOLLRDHUP.rawValue | EPOLLPRI.rawValue
            | UInt32(1) << 31
        private static let readable =
            EPOLLIN.rawValue | EPOLLRDHUP.rawValue | EPOLLPRI.rawValue | EPOLLHUP.rawValue
            | EPOLLERR.rawValue
        private static let readToEnd =
            EPOLLRDHUP.rawValue | EPOLLPRI.rawValue | EPOLLHUP.rawValue | EPOLLERR.rawValue
        private static let broken = EPOLLHUP.rawValue | EPOLLERR.rawValue

        private let descriptor: Int32
        /// The kernel writes events here. Owned from init to deinit.
        private let buffer: UnsafeMutablePointer<epoll_event>
        /// The events in the buffer that a wait has found; nil if the next poll has to ask.
        private var found: Int?
        private var source: (any DispatchSourceRead)?

        /// No connection has this token: its slot would be the 2³²th.
        private static let alarmToken = UInt64.max
        private(set) var alarm: LoopAlarm?

        init() throws(SystemFailure) {
            let descriptor = epoll_create1(Int32(EPOLL_CLOEXEC))
            guard descriptor >= 0 else {
                throw SystemFailure(operation: "epoll_create1", code: errno)
            }
            self.descriptor = descriptor
            unsafe self.buffer = .allocate(capacity: Self.capacity)
            alarm = try makeAlarm()
        }

        private func makeAlarm() throws(SystemFailure) -> LoopAlarm {
            let alarm = try LoopAlarm()
            var event = unsafe epoll_event(
                events: EPOLLIN.rawValue | UInt32(1) << 31,
                data: epoll_data_t(u64: Self.alarmToken))
            guard
                unsafe epoll_ctl(descriptor, EPOLL_CTL_ADD, alarm.descriptor, &event) == 0
            else { throw SystemFailure(operation: "epoll_ctl", code: errno) }
            return alarm
        }

        deinit {
            unsafe buffer.deallocate()
            // Once started, the source's cancel handler closes the descriptor.
            if source == nil { SocketCalls.close(descriptor) }
        }

        // epoll(7), Q9: "… can also be detected by checking the amount of data read".
        var shortReadMeansDrained: Bool { true }

        func start(on queue: DispatchQueue, fired: @escaping @Sendable (PollEvent?) -> Void) {
            let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
            source.setEventHandler { fired(nil) }
            source.activate()
            self.source = source
        }

        func poll(into events: inout [PollEvent]) -> Bool {
            // The only possible error of a correct call is EINTR; the next round polls again.
            let count =
                unsafe found ?? Int(epoll_wait(descriptor, buffer, Int32(Self.capacity), 0))
            found = nil
            guard count > 0 else { return false }
            for index in 0..<count {
                let event = unsafe buffer[index]
                guard unsafe event.data.u64 != Self.alarmToken else { continue }
                let id = unsafe ConnectionID(event.data.u64)
                let readiness = unsafe Self.readiness(event.events)
                events.append(PollEvent(id: id, readiness: readiness))
            }
            return count == Self.capacity
        }

        func wait(nanoseconds: Int64) {
            let count = unsafe epoll_wait_nanoseconds(
                descriptor, buffer, Int32(Self.capacity), nanoseconds)
            if count >= 0 {
                found = Int(count)
            } else if errno != EINTR {
                // An older kernel does not have the call (ENOSYS), or a container's rules refuse it
                // (EPERM): the loop then waits in Dispatch alone.
                alarm = nil
            }
        }

        private static func readiness(_ bits: UInt32) -> PollEvent.Readiness {
            var readiness: PollEvent.Readiness = []
            if bits & readable != 0 { readiness.insert(.readable) }
            if bits & readToEnd != 0 { readiness.insert(.readToEnd) }
            if bits & EPOLLOUT.rawValue != 0 { readiness.insert(.writable) }
            if bits & broken != 0 { readiness.insert(.broken) }
            return readiness
        }

        func add(_ descriptor: Int32, _ id: ConnectionID) throws(SystemFailure) {
            var event = unsafe epoll_event(
                events: Self.interest, data: epoll_data_t(u64: id.token))
            guard unsafe epoll_ctl(self.descriptor, EPOLL_CTL_ADD, descriptor, &event) == 0 else {
                throw SystemFailure(operation: "epoll_ctl", code: errno)
            }
        }

        func setReading(_ wanted: Bool, _ id: ConnectionID) {}

        func awaitRoom(_ id: ConnectionID) {}

        func roomArrived(_ id: ConnectionID) {}

        func close(_ descriptor: Int32, _ id: ConnectionID) {
            // It has no second descriptor, so closing also removes it from epoll.
            SocketCalls.close(descriptor)
        }

        func release(_ descriptor: Int32, _ id: ConnectionID) throws(SystemFailure) -> Int32 {
            var unused = unsafe epoll_event()
            guard unsafe epoll_ctl(self.descriptor, EPOLL_CTL_DEL, descriptor, &unused) == 0 else {
                throw SystemFailure(operation: "epoll_ctl", code: errno)
            }
            return descriptor
        }

        func stop(_ group: DispatchGroup) {
            guard let source else { return }
            let descriptor = descriptor
            group.enter()
            source.setCancelHandler {
                SocketCalls.close(descriptor)
                group.leave()
            }
            source.cancel()
        }
    }
#endif

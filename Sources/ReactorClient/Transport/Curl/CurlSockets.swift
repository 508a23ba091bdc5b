#if os(Linux)
    internal import CClientCurl
    internal import Glibc

    /// The descriptors that libcurl waits for, and the moment at which it acts without them.
    ///
    /// Changed within libcurl's calls. A wait costs the same for any number of streams (epoll(7)).
    @safe final class CurlSockets {
        struct Event {
            let descriptor: Int32
            /// Distinguishes the uses of a number that the system gives to one descriptor
            /// after another.
            let serial: UInt32
            /// In libcurl's terms.
            let actions: Int32
        }

        private struct Registration {
            let serial: UInt32
            var interest: UInt32
        }

        private let poller: Int32
        private let waiter: CurlSocketWaiter
        private var registrations: [Int32: Registration] = [:]
        private var lastSerial: UInt32 = 0
        /// Descriptors that the kernel has no room to watch: they count as ready from time to time.
        private(set) var unwatched: Set<Int32> = []
        /// Nil: libcurl waits for descriptors alone.
        private var deadline: ContinuousClock.Instant?

        /// - Parameter bell: a descriptor that is not libcurl's, and is watched for bytes to read.
        /// - Throws: if the system has no descriptor left, or no room to watch one.
        init(with bell: Int32) throws(TransportFailure) {
            poller = epoll_create1(Int32(EPOLL_CLOEXEC))
            waiter = CurlSocketWaiter(poller)
            let room = Registration(serial: 0, interest: EPOLLIN.rawValue)
            guard poller >= 0, control(EPOLL_CTL_ADD, bell, room) else {
                throw TransportFailure(.exhausted, "no file descriptor is left: error \(errno)")
            }
        }

        deinit { _ = Glibc.close(poller) }

        /// Returns when there are events, or something is to be done without one.
        func waitForEvents() -> [Event] { waiter.wait(until: wakeTime) }

        /// The present events of libcurl's descriptors, without a wait.
        func readyEvents() -> [Event] { waiter.wait(until: .now).filter(isCurrent) }

        /// Has libcurl report here, while this object has its final address.
        func serve(_ multi: UnsafeMutableRawPointer) {
            let context = unsafe Unmanaged.passUnretained(self).toOpaque()
            _ = unsafe ccurl_multi_set_pointer(multi, CURLMOPT_SOCKETDATA, context)
            _ = unsafe ccurl_multi_set_pointer(multi, CURLMOPT_TIMERDATA, context)
            _ = unsafe ccurl_multi_set_sockets(multi) { _, descriptor, action, context, _ in
                guard let context = unsafe context else { return -1 }
                unsafe Unmanaged<CurlSockets>.fromOpaque(context).takeUnretainedValue()
                    .watch(descriptor, action)
                return 0
            }
            _ = unsafe ccurl_multi_set_timer(multi) { _, milliseconds, context in
                guard let context = unsafe context else { return -1 }
                unsafe Unmanaged<CurlSockets>.fromOpaque(context).takeUnretainedValue()
                    .setTimer(milliseconds)
                return 0
            }
        }

        /// Whether the event is of the descriptor's present use.
        func isCurrent(_ event: Event) -> Bool {
            registrations[event.descriptor]?.serial == event.serial
        }

        /// Whether libcurl's timer is due.
        func isDue(at now: ContinuousClock.Instant) -> Bool { deadline.map { $0 <= now } ?? false }

        /// Whether libcurl's timer is due. It has one no more then, until it sets another one.
        func takeDeadline(at now: ContinuousClock.Instant) -> Bool {
            guard isDue(at: now) else { return false }
            deadline = nil
            return true
        }

        /// When something has to be done although no event has come; nil: never.
        private var wakeTime: ContinuousClock.Instant? {
            guard !unwatched.isEmpty else { return deadline }
            let next = ContinuousClock.now + .milliseconds(50)
            return deadline.map { min($0, next) } ?? next
        }

        // MARK: What libcurl calls

        private func setTimer(_ milliseconds: Int) {
            deadline = milliseconds < 0 ? nil : .now + .milliseconds(milliseconds)
        }

        private func watch(_ descriptor: Int32, _ action: Int32) {
            var interest: UInt32 = 0
            if action & CURL_POLL_IN != 0 { interest |= EPOLLIN.rawValue }
            if action & CURL_POLL_OUT != 0 { interest |= EPOLLOUT.rawValue }
            // Not with an empty interest: a connection that the peer has closed is
            // reported even then.
            guard action != CURL_POLL_REMOVE, interest != 0 else {
                registrations[descriptor] = nil
                unwatched.remove(descriptor)
                // Fails if it is closed already, or was not watched.
                _ = control(EPOLL_CTL_DEL, descriptor, Registration(serial: 0, interest: 0))
                return
            }
            let isWatched: Bool
            if var registration = registrations[descriptor] {
                registration.interest = interest
                registrations[descriptor] = registration
                isWatched = control(EPOLL_CTL_MOD, descriptor, registration)
            } else {
                lastSerial &+= 1
                let registration = Registration(serial: lastSerial, interest: interest)
                registrations[descriptor] = registration
                isWatched = control(EPOLL_CTL_ADD, descriptor, registration)
            }
            if isWatched {
                unwatched.remove(descriptor)
            } else {
                unwatched.insert(descriptor)
            }
        }

        private func control(
            _ operation: Int32, _ descriptor: Int32, _ registration: Registration
        ) -> Bool {
            let token = UInt64(registration.serial) << 32 | UInt64(UInt32(bitPattern: descriptor))
            var event = unsafe epoll_event(
                events: registration.interest, data: epoll_data_t(u64: token))
            return unsafe epoll_ctl(poller, operation, descriptor, &event) == 0
        }
    }

    @safe private struct CurlSocketWaiter: ~Copyable {
        private static let capacity = 64

        private let poller: Int32
        private let buffer: UnsafeMutablePointer<epoll_event>

        init(_ poller: Int32) {
            self.poller = poller
            unsafe buffer = .allocate(capacity: Self.capacity)
        }

        deinit { unsafe buffer.deallocate() }

        /// Returns when there are events, at the moment, or when a signal has come.
        func wait(until end: ContinuousClock.Instant?) -> [CurlSockets.Event] {
            let count = unsafe epoll_wait(
                poller, buffer, Int32(Self.capacity), Self.milliseconds(until: end))
            guard count > 0 else { return [] }
            return (0..<Int(count)).map { index in
                let event = unsafe buffer[index]
                let token = unsafe event.data.u64
                return CurlSockets.Event(
                    descriptor: Int32(truncatingIfNeeded: token),
                    serial: UInt32(truncatingIfNeeded: token >> 32),
                    actions: unsafe Self.actions(event.events))
            }
        }

        /// Rounded up: earlier than the moment the thread would find nothing to do.
        private static func milliseconds(until end: ContinuousClock.Instant?) -> Int32 {
            guard let end else { return -1 }
            let left = min(end - .now, .seconds(3_600))
            guard left > .zero else { return 0 }
            return Int32((left / .milliseconds(1)).rounded(.up))
        }

        /// None for an error alone: libcurl looks at the descriptor itself then.
        private static func actions(_ bits: UInt32) -> Int32 {
            var actions: Int32 = 0
            if bits & EPOLLIN.rawValue != 0 { actions |= CURL_CSELECT_IN }
            if bits & EPOLLOUT.rawValue != 0 { actions |= CURL_CSELECT_OUT }
            return actions
        }
    }
#endif

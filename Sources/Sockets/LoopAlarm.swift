#if os(Linux)
    import CEpoll
    import Glibc

    /// Ends the wait of a loop from another thread: an eventfd(2) among the loop's descriptors.
    final class LoopAlarm: Sendable {
        /// Open from init to deinit.
        let descriptor: Int32

        init() throws(SystemFailure) {
            descriptor = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
            guard descriptor >= 0 else { throw SystemFailure(operation: "eventfd", code: errno) }
        }

        deinit {
            SocketCalls.close(descriptor)
        }

        /// Each call is an event for an edge-triggered epoll instance, so nobody reads the counter:
        /// it would take centuries to become full.
        func ring() {
            _ = eventfd_write(descriptor, 1)
        }
    }
#else
    /// No loop waits on this platform.
    final class LoopAlarm: Sendable {
        func ring() {}
    }
#endif

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Darwin
#endif

/// Threads for long work that must not delay the loops.
enum LowPriorityThread {
    /// The nice value: a loop gets nine times as much of a processor that both want.
    private static let niceness: Int32 = 10

    /// Runs the work on a new thread; on this one if the system has no more threads.
    ///
    /// Why not a queue of Dispatch: on Linux its threads have one priority, and a thread that has
    /// lowered its own may not raise it again (setpriority(2)).
    static func run(_ work: @escaping @Sendable () -> Void) {
        let box = unsafe Unmanaged.passRetained(Box(work))
        #if canImport(Darwin)
            var thread: pthread_t?
        #else
            var thread = pthread_t()
        #endif
        let failure = unsafe pthread_create(
            &thread, nil,
            {
                unsafe LowPriorityThread.begin($0)
                return nil
            }, box.toOpaque())
        guard failure == 0 else { return unsafe box.takeRetainedValue().work() }
        #if canImport(Darwin)
            if let thread = unsafe thread { unsafe pthread_detach(thread) }
        #else
            pthread_detach(thread)
        #endif
    }

    /// Lets another thread run first, if one wants the processor (sched_yield(2)).
    @Sendable static func pause() { sched_yield() }

    private final class Box: Sendable {
        let work: @Sendable () -> Void
        init(_ work: @escaping @Sendable () -> Void) { self.work = work }
    }

    private static func begin(_ box: UnsafeMutableRawPointer?) {
        #if canImport(Darwin)
            pthread_set_qos_class_self_np(QOS_CLASS_UTILITY, 0)
        #else
            // On Linux the nice value belongs to a thread, and 0 is the calling one (sched(7)).
            setpriority(Int32(PRIO_PROCESS.rawValue), 0, niceness)
        #endif
        guard let box = unsafe box else { return }
        unsafe Unmanaged<Box>.fromOpaque(box).takeRetainedValue().work()
    }
}

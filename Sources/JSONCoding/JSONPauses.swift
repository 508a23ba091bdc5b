/// The pauses of a long scan, in which its thread can let others have the processor.
///
/// Why: a thread that lowered its own priority still keeps the processor from one that wakes up,
/// for up to a tick of Linux's scheduler (4 ms; measured with `perf sched`, Linux 6.18). A pause
/// bounds that by the work between two of them, which takes some 0.05 ms.
package struct JSONPauses {
    /// The number of nodes between two pauses; of keys while equal ones are searched.
    package static let interval = 512

    package static let none = JSONPauses(nil)

    private let pause: (@Sendable () -> Void)?

    package init(_ pause: (@Sendable () -> Void)?) { self.pause = pause }

    /// - Parameter count: The number of nodes so far, or of keys.
    @inline(__always)
    func passed(_ count: Int) {
        if count % Self.interval == 0 { pause?() }
    }
}

/// How tasks that work for a table are kept on its loop.
///
/// Why not the loop itself: this floor knows no sockets, and a table in a test has no loop.
package struct LoopIsolation: Sendable {
    /// Ends the process unless it is called on the loop: user code would run beside itself.
    package let check: @Sendable () -> Void
    /// Runs a job as the loop would, one after the other, once the loop has stopped and does
    /// nothing any more. A job of a task can't be let go of: the task would never end.
    package let runAfterStop: @Sendable (@escaping @Sendable () -> Void) -> Void

    package init(
        check: @escaping @Sendable () -> Void,
        runAfterStop: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void
    ) {
        self.check = check
        self.runAfterStop = runAfterStop
    }
}

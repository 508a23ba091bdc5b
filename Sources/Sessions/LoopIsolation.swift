/// Keeps the tasks of a table's sessions on the table's loop.
///
/// Why not the loop itself: this module does not import sockets, and a table in a test has no loop.
package struct LoopIsolation: Sendable {
    /// Ends the process unless it is called on the loop: user code would run
    /// concurrently with itself.
    package let check: @Sendable () -> Void
    /// Runs a job after the loop has stopped, serially, as the loop would. A job of a task must not
    /// be dropped: the task would never end.
    package let runAfterStop: @Sendable (@escaping @Sendable () -> Void) -> Void

    package init(
        check: @escaping @Sendable () -> Void,
        runAfterStop: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void
    ) {
        self.check = check
        self.runAfterStop = runAfterStop
    }
}

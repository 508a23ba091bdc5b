import Dispatch

/// Runs an actor's jobs on one serial Dispatch queue, on which its sources fire too.
///
/// Dispatch provides such an executor (`DispatchSerialQueue`) on Apple platforms only.
final class LoopExecutor: SerialExecutor {
    let queue: DispatchQueue

    init(label: String) {
        // Targets an overcommitting root queue: a loop never waits for another one's thread.
        self.queue = DispatchQueue(label: label)
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { unsafe job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }

    /// Makes `assumeIsolated` succeed in a source's handler, where no Swift task runs.
    func checkIsolated() {
        dispatchPrecondition(condition: .onQueue(queue))
    }
}

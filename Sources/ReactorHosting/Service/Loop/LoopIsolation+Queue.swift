internal import Dispatch
internal import Sessions

extension LoopIsolation {
    /// The isolation of the loop with this queue. The queue outlives the loop.
    init(_ queue: DispatchQueue) {
        self.init(
            check: { dispatchPrecondition(condition: .onQueue(queue)) },
            runAfterStop: { job in queue.async(execute: job) })
    }
}

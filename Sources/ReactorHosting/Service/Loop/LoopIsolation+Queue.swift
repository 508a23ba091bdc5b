internal import Dispatch
internal import Sessions

extension LoopIsolation {
    /// Of a loop whose queue this is. The queue outlives the loop's end.
    init(_ queue: DispatchQueue) {
        self.init(
            check: { dispatchPrecondition(condition: .onQueue(queue)) },
            runAfterStop: { job in queue.async(execute: job) })
    }
}

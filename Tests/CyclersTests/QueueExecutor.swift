import Dispatch

/// Runs an actor's jobs on one serial queue, like the loops of the server.
///
/// Why `isIsolatingCurrentContext`: in the handler of a Dispatch source no Swift task runs, so
/// `Task.immediate` asks the executor whether it is on it already. Without an answer it enqueues
/// (seen on 6.3.1), and the synchronous part of an action comes later.
final class QueueExecutor: SerialExecutor {
    let queue = DispatchQueue(label: "test loop")
    private static let key = DispatchSpecificKey<ObjectIdentifier>()

    init() { queue.setSpecific(key: Self.key, value: ObjectIdentifier(self)) }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { unsafe job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }

    func checkIsolated() { dispatchPrecondition(condition: .onQueue(queue)) }

    func isIsolatingCurrentContext() -> Bool? {
        DispatchQueue.getSpecific(key: Self.key) == ObjectIdentifier(self)
    }
}

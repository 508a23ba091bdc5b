import Synchronization

/// The tasks of a host. They end with it: releasing the bag cancels what is in it.
final class TaskBag: Sendable {
    enum Key: Hashable {
        case run(RunID)
        case source(Int)
    }

    // Why a lock: a host's initialiser must put tasks in that already capture the host, and may not
    // touch the host's own state then. Without it a task that ends at once could come in between.
    private let tasks = Mutex<[Key: Task<Void, Never>]>([:])

    func add(_ task: Task<Void, Never>, as key: Key) {
        tasks.withLock { $0[key] = task }
    }

    /// Forgets a task that has ended.
    func remove(_ key: Key) {
        tasks.withLock { _ = $0.removeValue(forKey: key) }
    }

    func cancel(_ key: Key) {
        tasks.withLock { $0.removeValue(forKey: key) }?.cancel()
    }

    func cancelAll() {
        let all = tasks.withLock { tasks in
            defer { tasks = [:] }
            return tasks
        }
        for task in all.values { task.cancel() }
    }

    deinit { cancelAll() }
}

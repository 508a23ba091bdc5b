import Synchronization

/// The tasks of a host. Releasing the bag cancels its tasks.
final class TaskBag: Sendable {
    enum Key: Hashable {
        case run(RunID)
        case source(Int)
        // The wait for the next timer.
        case timer
    }

    // Why a lock: a host's initialiser must add tasks that capture the host, and cannot access the
    // host's own state after that. Without the lock a task that ends at once could interleave.
    private let tasks = Mutex<[Key: Task<Void, Never>]>([:])

    func add(_ task: Task<Void, Never>, as key: Key) {
        tasks.withLock { $0[key] = task }
    }

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

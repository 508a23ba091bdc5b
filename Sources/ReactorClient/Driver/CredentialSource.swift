internal import ClientMachine
internal import Synchronization

/// Asks the program for credentials, each question in a task of its own.
final class CredentialSource: Sendable {
    private let source: ClientConfiguration.CredentialFunction
    /// Invariant: at most ``limit``.
    private let tasks = Mutex<[AttemptID: Task<Void, Never>]>([:])

    init(_ source: @escaping ClientConfiguration.CredentialFunction) { self.source = source }

    /// Open questions. Further ones get no credential, and their attempts are repeated later.
    private static let limit = 256

    func ask(
        _ id: AttemptID, refused: String?, clock: DriverClock,
        _ post: @escaping @Sendable (Input) -> Void
    ) {
        let isAsked = tasks.withLock { tasks in
            guard tasks.count < Self.limit else { return false }
            // Detached: it may be the caller of some send that asks, whose values it
            // must not inherit.
            tasks[id] = Task.detached { [self] in
                let credential = try? await source(CredentialRequest(refused))
                post(.credential(id, credential?.machineValue(at: clock.now.uptime)))
                self.tasks.withLock { $0[id] = nil }
            }
            return true
        }
        if !isAsked { post(.credential(id, nil)) }
    }

    /// Asks for a request beside the machine.
    func credential(refused: String?) async throws(ClientFailure) -> ClientCredential? {
        do {
            return try await source(CredentialRequest(refused))
        } catch {
            throw .unreachable("the program has no credential: \(error)")
        }
    }

    func cancelAll() {
        for task in tasks.withLock({ $0.values.map(\.self) }) { task.cancel() }
    }
}

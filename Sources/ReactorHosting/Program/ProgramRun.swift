internal import Synchronization

/// The program that uses a server's own sessions.
package typealias HostingProgram = @Sendable (HostedSessions) async throws -> Void

/// The program beside a running server.
final class ProgramRun: Sendable {
    private struct State {
        var hasEnded: Bool
        var failure: (any Error)?
    }

    private let state: Mutex<State>
    private let failures = AsyncStream<Void>.makeStream()
    private let task = Mutex<Task<Void, Never>?>(nil)

    /// Starts the program, unless it is nil.
    init(_ program: HostingProgram?, _ sessions: HostedSessions) {
        state = Mutex(State(hasEnded: program == nil))
        guard let program else { return }
        let running = Task { @concurrent [self] in
            do {
                try await program(sessions)
                ended(nil)
            } catch {
                ended(Task.isCancelled && Self.isEndOfServer(error) ? nil : error)
            }
        }
        task.withLock { $0 = running }
    }

    /// Returns when the program fails or the calling task is cancelled. Then cancels the program.
    func untilFailure() async {
        await withTaskCancellationHandler {
            for await _ in failures.stream {}
        } onCancel: {
            failures.continuation.finish()
        }
        task.withLock { $0 }?.cancel()
    }

    var hasEnded: Bool { state.withLock { $0.hasEnded } }

    /// The error that the program has thrown, if any.
    var failure: (any Error)? { state.withLock { $0.failure } }

    private static func isEndOfServer(_ error: any Error) -> Bool {
        if case .draining? = error as? HostedFailure { return true }
        return error is CancellationError
    }

    private func ended(_ failure: (any Error)?) {
        state.withLock { ($0.hasEnded, $0.failure) = (true, failure) }
        if failure != nil { failures.continuation.finish() }
    }
}

import Dispatch
import Sockets
import Storage
import Testing

@testable import ReactorHosting

@Suite("A reload reaches all loops at once", .timeLimit(.minutes(60)))
struct ReloadedLoopsTests {
    /// Refuses each token.
    private struct Nobody: Authenticator {
        func authenticate(bearer token: String) async throws(AuthenticationFailure) -> Principal {
            throw .invalid("nobody is known")
        }
    }

    // Otherwise a removed key would stay valid on the other loops for as long as one is blocked.
    @Test(arguments: 0..<3)
    func `a loop that is blocked keeps no other from the new keys`(blocked: Int) async throws {
        var configuration = Configuration()
        configuration.loops = 3
        let server = try RunningServer(
            ReactorServer(
                hosting: [], configuration: configuration, authenticator: Nobody()),
            [], journal: MemoryJournal(), console: .nobody)
        let gate = DispatchSemaphore(value: 0)
        server.loops[blocked].enqueue { _ in gate.wait() }
        configuration.grace = .seconds(77)
        async let adopted: Void = server.adopt(configuration, Nobody())
        for (index, loop) in server.loops.enumerated() where index != blocked {
            while await grace(on: loop) != .seconds(77) { await Task.yield() }
        }
        gate.signal()
        await adopted
        #expect(await grace(on: server.loops[blocked]) == .seconds(77))
        for loop in server.loops { await loop.stop() }
    }

    private func grace(on loop: EventLoop<ServerLoop>) async -> Duration {
        await withCheckedContinuation { continuation in
            loop.enqueue { continuation.resume(returning: $0.resources.configuration.grace) }
        }
    }
}

import Foundation
import ReactorHosting

/// A consumer of a queue that delivers all of its messages to each process. The messages are the
/// numbers from 1 to `FIXTURE_MESSAGES`, each with a key, for the session `consumer`.
enum Consumer {
    typealias Program = @Sendable (HostedSessions) async throws -> Void

    /// Nil if the variable is not set.
    static var program: Program? {
        guard let text = ProcessInfo.processInfo.environment["FIXTURE_MESSAGES"],
            let count = Int(text)
        else { return nil }
        return { server in
            let rounds = try await server.create("consumer", of: Rounds.self)
            for number in 1...count {
                let ring = Rounds.Action.ring(ring: number, due: .distantPast)
                try await rounds.send(ring, key: "message-\(number)")
                try FileHandle.standardOutput.write(contentsOf: Data("consumed \(number)\n".utf8))
            }
        }
    }
}

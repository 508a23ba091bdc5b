import Foundation
import ReactorHosting
import Testing

/// Runs a server with a journal in a file until `body` returns.
func serving(
    _ hosted: Hosted, journal path: String, _ body: (PlainClient) throws -> Void
) async throws {
    var configuration = Configuration()
    configuration.port = 0
    configuration.journal = .file(path: path)
    configuration.grace = .seconds(1)
    let server = ReactorServer(hosting: [hosted], configuration: configuration)
    let (addresses, told) = AsyncStream<String>.makeStream()
    let running = Task {
        defer { told.finish() }
        try await server.run { told.yield($0) }
    }
    var address: String?
    for await one in addresses {
        address = one
        break
    }
    let outcome = Result { try body(try PlainClient(try #require(address))) }
    running.cancel()
    try await running.value
    try outcome.get()
}

/// A new folder, which the caller removes.
func temporaryFolder() throws -> URL {
    let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    return folder
}

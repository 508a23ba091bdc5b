import Foundation

/// A folder for files of the tests, removed when its last reference is released.
final class TemporaryFolder: Sendable {
    /// Lives as long as the test process.
    static let shared = TemporaryFolder()

    let path: String

    init() {
        path = NSTemporaryDirectory() + "reactor-tests-" + UUID().uuidString
        try? FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }
}

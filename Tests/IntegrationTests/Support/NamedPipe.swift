import Dispatch
import Foundation
import Glibc

/// A named pipe, with which a test blocks the reactors of the fixtures that read from it.
struct NamedPipe {
    let path: String

    init() throws {
        path = TemporaryFolder.shared.path + "/\(UUID().uuidString)"
        guard unsafe mkfifo(path, 0o600) == 0 else {
            throw SystemCallFailure(call: "mkfifo", code: errno)
        }
    }

    /// Returns a descriptor for writing, as soon as there is a reader.
    func open() async -> Int32 {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async { [path] in
                continuation.resume(returning: unsafe Glibc.open(path, O_WRONLY))
            }
        }
    }
}

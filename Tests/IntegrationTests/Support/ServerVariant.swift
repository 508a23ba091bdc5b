import Foundation
import Testing

/// The poller, the loops and the journal of a server whose test does not choose them.
///
/// Half of the tests start servers of each kind, so every run covers both.
/// `REACTOR_TEST_VARIANT=other` swaps the halves.
struct ServerVariant: Hashable, Sendable {
    /// The platform's best poller, or the one that every platform has.
    let poller: String
    /// At least two: connections have to move.
    let loops: Int
    let usesFile: Bool

    #if os(Linux)
        private static let ordinary = ServerVariant(poller: "epoll", loops: 2, usesFile: false)
    #else
        private static let ordinary = ServerVariant(poller: "dispatch", loops: 2, usesFile: false)
    #endif
    private static let portable = ServerVariant(poller: "dispatch", loops: 3, usesFile: true)

    /// The variant of the running test, chosen by its name, so the same in each run.
    static var current: ServerVariant {
        let name = Test.current?.name ?? ""
        let isSwapped = ProcessInfo.processInfo.environment["REACTOR_TEST_VARIANT"] == "other"
        // FNV-1a; Swift's own hash differs from run to run.
        let hash = name.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) {
            ($0 ^ UInt64($1)) &* 0x0100_0000_01b3
        }
        return ((hash >> 32) % 2 == 0) == isSwapped ? ordinary : portable
    }

    /// The durability that such a server reports.
    var durability: String { usesFile ? "file" : "memory" }

    /// A value for the setting `journal`.
    func journal() -> String {
        guard usesFile else { return "memory" }
        return "file:\(TemporaryFolder.shared.path)/\(UUID().uuidString).sqlite"
    }
}

internal import Logging
internal import Synchronization

/// Warns once when the write-ahead log of a journal's file has grown long, and again only after it
/// was short. While a reader of the file is in one transaction, the log cannot be reused.
final class LogSizeWatch: Sendable {
    /// Several times the length at which the log is reused if there is no such reader.
    static let limitBytes = 134_217_728

    private let isLong = Mutex(false)

    /// - Returns: Whether the log has just become long.
    func look(at bytes: Int) -> Bool {
        isLong.withLock { isLong in
            // A log that is reused keeps its length, up to half of this limit.
            guard bytes > (isLong ? Self.limitBytes * 3 / 4 : Self.limitBytes) else {
                isLong = false
                return false
            }
            defer { isLong = true }
            return !isLong
        }
    }

    func look(at bytes: Int, _ logger: Logger) {
        guard look(at: bytes) else { return }
        logger.warning(
            """
            the write-ahead log of the journal's file is long: the disk is slow, or a program reads \
            the file in one transaction, such as a command on the journal whose output nobody \
            reads; end that program
            """, metadata: ["bytes": .stringConvertible(bytes)])
    }
}

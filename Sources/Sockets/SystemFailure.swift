#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A failed system call: the operation, its code, and its subject.
///
/// Neither the peer's fault (a `CloseReason`) nor the program's (a precondition).
package struct SystemFailure: Error, Equatable, Sendable, CustomStringConvertible {
    /// The call that failed, by its name in the manual: `bind`, `epoll_create1`, `getaddrinfo`.
    package let operation: String

    /// The value of `errno`; for `getaddrinfo` its own result code.
    package let code: Int32

    /// The object of the operation, such as an address or a path; empty if there is none.
    package let detail: String

    package let message: String

    /// A failure of `operation` with an `errno` code; the sentence comes from `strerror`.
    package init(operation: String, code: Int32, detail: String = "") {
        self.init(
            operation: operation, code: code, detail: detail, message: Self.sentence(for: code))
    }

    /// A failure with its own sentence, whose code is not an `errno`.
    package init(operation: String, code: Int32, detail: String, message: String) {
        self.operation = operation
        self.code = code
        self.detail = detail
        self.message = message
    }

    /// One line for a log or a start-up error: `bind 127.0.0.1:80: Permission denied (13)`.
    package var description: String {
        let subject = detail.isEmpty ? operation : "\(operation) \(detail)"
        return "\(subject): \(message) (\(code))"
    }

    /// `strerror_r` instead of `strerror`, whose buffer is shared between threads.
    private static func sentence(for code: Int32) -> String {
        unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer in
            guard let start = buffer.baseAddress else { return "" }
            unsafe start.initialize(repeating: 0, count: 256)
            _ = unsafe strerror_r(code, start, 255)
            return unsafe String(cString: start)
        }
    }
}

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Words for error numbers.
enum SystemText {
    /// The text of `strerror`, with the number.
    static func message(for code: Int32) -> String {
        guard let text = unsafe strerror(code) else { return "error \(code)" }
        return unsafe String(cString: text) + " (\(code))"
    }
}

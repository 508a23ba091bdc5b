#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Messages for error numbers.
enum SystemText {
    /// The text of `strerror`, followed by the number.
    static func message(for code: Int32) -> String {
        guard let text = unsafe strerror(code) else { return "error \(code)" }
        return unsafe String(cString: text) + " (\(code))"
    }
}

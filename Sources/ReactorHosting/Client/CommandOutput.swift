internal import ArgumentParser

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Darwin)
    internal import Darwin
#endif

/// The output of a command on sessions, line by line.
enum CommandOutput {
    /// Writes a line to standard output.
    ///
    /// - Throws: An exit status: 0 if the reader of a pipe is gone, as `head` is after its lines.
    static func line(_ text: String) throws(ExitCode) {
        let code = Standard.put(Array((visible(text) + "\n").utf8))
        guard code != 0 else { return }
        if code == EPIPE { throw ExitCode(0) }
        report("cannot write to standard output: \(unsafe String(cString: strerror(code)))")
        throw ExitCode(1)
    }

    static func line(_ bytes: [UInt8]) throws(ExitCode) {
        try line(String(decoding: bytes, as: UTF8.self))
    }

    /// Writes a line to standard error.
    static func report(_ sentence: String) {
        Standard.error("reactor-server: \(visible(sentence))\n")
    }

    /// The text with its control characters, except the tab, as `\u001b`: text of a server must not
    /// move a terminal's cursor, or do worse. In JSON this escape means the same.
    static func visible(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: isControl) else { return text }
        return text.unicodeScalars.reduce(into: "") { out, scalar in
            guard isControl(scalar) else { return out.unicodeScalars.append(scalar) }
            out += "\\u00" + (scalar.value < 16 ? "0" : "") + String(scalar.value, radix: 16)
        }
    }

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value < 0x20 && scalar != "\t" || (0x7f...0x9f).contains(scalar.value)
    }

    static func sleep(milliseconds: Int) {
        _ = poll(nil, 0, Int32(clamping: milliseconds))
    }
}

internal import Sockets

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Darwin)
    internal import Darwin
#endif

/// The file of `--config`: lines such as `retry = 3s`, empty lines, and comments that begin with
/// `#`. A name is that of an option, without its dashes.
///
/// A value ends with its line, without spaces and tabs around it: it has neither quotes nor escapes
/// nor a comment behind it.
struct SettingsFile: Sendable {
    /// A larger file is refused.
    static let limitBytes = 65_536
    /// Further faults are counted.
    static let shownFaults = 20

    let path: String
    /// The texts by the names of their settings.
    private(set) var entries: [String: (text: String, line: Int)] = [:]
    /// One sentence for each refused line.
    private(set) var sentences: [String] = []

    init(path: String, bytes: [UInt8]) {
        self.path = path
        var faults = 0
        let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() {
            guard let fault = addLine(line, number: index + 1) else { continue }
            faults += 1
            if faults <= Self.shownFaults { sentences.append("\(path):\(index + 1): \(fault)") }
        }
        if faults > Self.shownFaults {
            sentences.append("\(path): \(faults - Self.shownFaults) more lines are refused")
        }
    }

    /// Adds the setting of a line; returns a sentence if the line is refused.
    private mutating func addLine(_ bytes: ArraySlice<UInt8>, number: Int) -> String? {
        guard let line = String(validating: bytes, as: UTF8.self) else { return "it is not UTF-8" }
        let text = line.trimmingBlanks
        guard !text.isEmpty, text.first != "#" else { return nil }
        guard let equals = text.firstIndex(of: "=") else { return "expected NAME = VALUE" }
        let name = String(text[..<equals].trimmingBlanks)
        let value = String(text[text.index(after: equals)...].trimmingBlanks)
        guard name != "config" else { return "the file cannot name another one" }
        guard Setting.table.contains(where: { $0.name == name }) else {
            return "there is no setting \"\(name.prefix(64))\"; see --help"
        }
        guard !value.isEmpty else { return "\(name) has no value" }
        if let earlier = entries[name] { return "\(name) is set in line \(earlier.line), too" }
        entries[name] = (value, number)
        return nil
    }
}

extension SettingsFile {
    /// Reads the file of that path.
    static func read(_ path: String) throws(ConfigurationFailure) -> SettingsFile {
        SettingsFile(path: path, bytes: try contents(of: path))
    }

    private static func contents(of path: String) throws(ConfigurationFailure) -> [UInt8] {
        // A pipe without a writer would block the call.
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw failure("open", path, code: errno) }
        defer { close(descriptor) }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else {
            throw failure("fstat", path, code: errno)
        }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw ConfigurationFailure(sentences: ["\(path): it is not a regular file"])
        }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 16_384)
        while true {
            let count = unsafe buffer.withUnsafeMutableBytes {
                unsafe Self.read(descriptor, $0.baseAddress, $0.count)
            }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw failure("read", path, code: errno) }
            guard count > 0 else { return bytes }
            bytes += buffer[..<count]
            guard bytes.count <= limitBytes else {
                throw ConfigurationFailure(
                    sentences: ["\(path): it has more than \(limitBytes) bytes"])
            }
        }
    }

    private static func read(
        _ descriptor: Int32, _ bytes: UnsafeMutableRawPointer?, _ count: Int
    ) -> Int {
        #if canImport(Glibc)
            unsafe Glibc.read(descriptor, bytes, count)
        #else
            unsafe Darwin.read(descriptor, bytes, count)
        #endif
    }

    private static func failure(
        _ call: String, _ path: String, code: Int32
    ) -> ConfigurationFailure {
        let failure = SystemFailure(operation: call, code: code)
        return ConfigurationFailure(sentences: ["\(path): \(failure)"])
    }
}

extension StringProtocol {
    /// The text without spaces, tabs and carriage returns around it.
    fileprivate var trimmingBlanks: SubSequence {
        let isBlank = { (character: Character) in " \t\r".contains(character) }
        var rest = drop(while: isBlank)
        while let last = rest.last, isBlank(last) { rest.removeLast() }
        return rest
    }
}

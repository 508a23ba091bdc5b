#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// A file that is read and written at any place.
final class PageFile {
    private let descriptor: Int32
    private let path: String

    convenience init(reading path: String) throws(JournalFileFault) {
        try self.init(path, O_RDONLY)
    }

    /// - Parameter path: of a file that exists.
    convenience init(writing path: String) throws(JournalFileFault) {
        try self.init(path, O_RDWR)
    }

    private init(_ path: String, _ flags: Int32) throws(JournalFileFault) {
        self.path = path
        descriptor = unsafe open(path, flags | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure }
    }

    deinit { close(descriptor) }

    private var failure: JournalFileFault { .unusable("\(path): \(FileIdentity.systemWords())") }

    var byteCount: Int {
        get throws(JournalFileFault) {
            var status = stat()
            guard unsafe fstat(descriptor, &status) == 0 else { throw failure }
            return Int(status.st_size)
        }
    }

    /// Fewer bytes only at the end of the file.
    func read(_ count: Int, at place: Int) throws(JournalFileFault) -> [UInt8] {
        var failed = false
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            while filled < count {
                let got = unsafe pread(
                    descriptor, buffer.baseAddress.map { unsafe $0 + filled }, count - filled,
                    off_t(place + filled))
                if got < 0, errno == EINTR { continue }
                failed = got < 0
                guard got > 0 else { return }
                filled += got
            }
        }
        guard !failed else { throw failure }
        return bytes
    }

    func write(_ bytes: [UInt8], at place: Int) throws(JournalFileFault) {
        var done = 0
        while done < bytes.count {
            let count = unsafe bytes.withUnsafeBytes {
                unsafe pwrite(
                    descriptor, $0.baseAddress.map { unsafe $0 + done }, $0.count - done,
                    off_t(place + done))
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw failure }
            done += count
        }
    }

    func truncate(to count: Int) throws(JournalFileFault) {
        guard ftruncate(descriptor, off_t(count)) == 0 else { throw failure }
    }

    func flush() throws(JournalFileFault) {
        guard fsync(descriptor) == 0 else { throw failure }
    }
}

/// The sum of the words of 8 bytes that were added, in their order. It finds faults, and no
/// forgery.
struct PageSum: Equatable {
    private var last: UInt64 = 0xCBF2_9CE4_8422_2325
    private var all: UInt64 = 0

    /// The rest of a last word counts as 0.
    mutating func add(_ bytes: some Collection<UInt8>) {
        var (word, count): (UInt64, Int) = (0, 0)
        for byte in bytes {
            word = word << 8 | UInt64(byte)
            count += 1
            guard count == 8 else { continue }
            add(word)
            (word, count) = (0, 0)
        }
        if count > 0 { add(word << UInt64(8 * (8 - count))) }
    }

    private mutating func add(_ word: UInt64) {
        // As FNV-1a, by words.
        last = (last ^ word) &* 0x100_0000_01B3
        last ^= last >> 32
        all = all << 7 | all >> 57
        all ^= last
    }

    var bytes: [UInt8] { PageChain.bytes(of: last) + PageChain.bytes(of: all) }
}

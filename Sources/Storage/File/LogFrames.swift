#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// The frames of a write-ahead log. Source: SQLite's file format, §4.
///
/// SQLite ends a log at its first invalid frame. Usually that is the end. But if a bit of an
/// earlier frame has changed, everything acknowledged since would be lost silently.
struct LogFrames: Equatable, Sendable {
    /// The frames before the first invalid one.
    private(set) var valid = 0
    /// Nil if the frames do not prove any damage.
    private(set) var damage: Damage?
    private var header: [UInt8] = []

    struct Damage: Equatable, Sendable {
        /// The first invalid frame, from 1; 0 is the header of the log.
        var frame: Int
        /// The number of valid frames after it.
        var later: Int
    }

    private static let headerBytes = 32
    private static let frameHeaderBytes = 24
    /// About a megabyte is read at a time.
    private static let bufferBytes = 1 << 20

    /// Nil if there is no log, or it cannot be read.
    ///
    /// Not atomic: while a server uses the log, frames are read at different times.
    init?(_ path: String) {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var header = [UInt8](repeating: 0, count: Self.headerBytes)
        guard Self.read(descriptor, &header, at: 0) == header.count else { return }
        self.header = header
        var walk = Walk(header)
        guard walk.pageBytes >= 512, walk.pageBytes <= 65_536 else { return }
        let frameBytes = Self.frameHeaderBytes + walk.pageBytes
        var buffer = [UInt8](
            repeating: 0, count: max(1, Self.bufferBytes / frameBytes) * frameBytes)
        var place = Self.headerBytes
        while true {
            let count = Self.read(descriptor, &buffer, at: place)
            for start in stride(from: 0, through: count - frameBytes, by: frameBytes) {
                unsafe buffer.withUnsafeBytes {
                    unsafe walk.visit(
                        UnsafeRawBufferPointer(rebasing: $0[start..<start + frameBytes]))
                }
            }
            guard count == buffer.count else { break }
            place += count
        }
        valid = walk.valid
        guard let frame = walk.broken, walk.isDamage else { return }
        damage = Damage(frame: frame, later: walk.later)
    }

    private static func read(_ descriptor: Int32, _ bytes: inout [UInt8], at place: Int) -> Int {
        var count = 0
        while count < bytes.count {
            let more = unsafe bytes.withUnsafeMutableBytes {
                unsafe pread(
                    descriptor, $0.baseAddress?.advanced(by: count), $0.count - count,
                    off_t(place + count))
            }
            if more < 0, errno == EINTR { continue }
            guard more > 0 else { break }
            count += more
        }
        return count
    }

    /// Visits frame after frame.
    ///
    /// A commit is flushed before the next one writes. So a frame that continues a *commit* proves
    /// that everything before it was on disk, and an invalid frame there is damage. Otherwise, the
    /// frames after an invalid one are of a commit that was never acknowledged: the power failed,
    /// or a later commit has overwritten its beginning.
    private struct Walk {
        /// SQLite's default, which journals have, if the header is invalid.
        private(set) var pageBytes = 4_096
        private let isBigEndian: Bool
        /// Nil if the header is invalid.
        private var salts: UInt64?
        private var lastSalts: UInt64?
        /// The checksum that the frame before has, or should have.
        private var sum: (UInt32, UInt32)
        private var isAfterCommit = false
        private var frames = 0
        private(set) var valid = 0
        private(set) var broken: Int?
        private(set) var later = 0
        private(set) var isDamage = false

        init(_ header: [UInt8]) {
            let words = unsafe header.withUnsafeBytes { bytes in
                (0..<8).map { unsafe bytes.loadUnaligned(fromByteOffset: 4 * $0, as: UInt32.self) }
            }.map(UInt32.init(bigEndian:))
            isBigEndian = words[0] == 0x377F_0683
            sum = (words[6], words[7])
            let counted = unsafe header.withUnsafeBytes {
                unsafe Self.sum(
                    of: UnsafeRawBufferPointer(rebasing: $0[..<24]), after: (0, 0), isBigEndian)
            }
            if words[0] & ~1 == 0x377F_0682, words[1] == 3_007_000, counted == sum {
                salts = UInt64(words[4]) << 32 | UInt64(words[5])
                pageBytes = Int(words[2])
            } else {
                broken = 0
            }
        }

        mutating func visit(_ frame: UnsafeRawBufferPointer) {
            frames += 1
            func word(_ place: Int) -> UInt32 {
                let stored = unsafe frame.loadUnaligned(fromByteOffset: place, as: UInt32.self)
                return UInt32(bigEndian: stored)
            }
            let salt = UInt64(word(8)) << 32 | UInt64(word(12))
            let stored = (word(16), word(20))
            // Frames of earlier rounds have other salts.
            let isOfThisRound = salt == salts ?? lastSalts ?? salt && word(0) != 0
            let isValid = unsafe isOfThisRound && checksum(of: frame) == stored
            if broken == nil {
                if isValid { valid += 1 } else { broken = frames }
            } else if isValid {
                later += 1
                if isAfterCommit { isDamage = true }
            }
            isAfterCommit = isOfThisRound && word(4) != 0
            (sum, lastSalts) = (stored, salt)
        }

        private func checksum(of frame: UnsafeRawBufferPointer) -> (UInt32, UInt32) {
            let head = unsafe Self.sum(
                of: UnsafeRawBufferPointer(rebasing: frame[..<8]), after: sum, isBigEndian)
            return unsafe Self.sum(
                of: UnsafeRawBufferPointer(rebasing: frame[LogFrames.frameHeaderBytes...]),
                after: head, isBigEndian)
        }

        private static func sum(
            of bytes: UnsafeRawBufferPointer, after start: (UInt32, UInt32), _ isBigEndian: Bool
        ) -> (UInt32, UInt32) {
            var (first, second) = start
            for place in stride(from: 0, to: bytes.count, by: 8) {
                let one = unsafe bytes.loadUnaligned(fromByteOffset: place, as: UInt32.self)
                let two = unsafe bytes.loadUnaligned(fromByteOffset: place + 4, as: UInt32.self)
                first &+= second &+ (isBigEndian ? one.bigEndian : one.littleEndian)
                second &+= first &+ (isBigEndian ? two.bigEndian : two.littleEndian)
            }
            return (first, second)
        }
    }
}

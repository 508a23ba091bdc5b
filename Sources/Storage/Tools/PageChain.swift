#if canImport(FoundationEssentials)
    internal import FoundationEssentials
#else
    internal import Foundation
#endif

// A folder with chains of copies of a journal's file. The first copy of a chain has all pages of
// the file. Each later one has the pages that differ from the copy before it.
//
//   000002-000001.pages    the first copy of the second chain
//   000002-000002.pages
//
// A copy begins with a line of JSON:
//
//   {"pages":1,"chain":2,"number":2,"journal":"…","pageSize":4096,"count":300,"time":1700000000000}
//
// `pages` is the version of this form, `journal` the journal's origin, and `count` the number of
// pages that the file has then. For each page that it has, the page's number, from 1, and its
// bytes follow; then the number 0, and 16 bytes: the sum of everything. Numbers have 8 bytes, the
// highest first. A sum continues that of the copy before, so the copies of two chains cannot be
// mixed.
struct PageChain {
    struct Name: Comparable {
        var chain: Int
        var number: Int

        private static let limit = 999_999_999

        var text: String { "\(Self.digits(chain))-\(Self.digits(number)).pages" }

        init(chain: Int, number: Int) { (self.chain, self.number) = (chain, number) }

        /// Nil for the name of another file.
        init?(_ text: String) {
            let parts = text.split(separator: "-", omittingEmptySubsequences: false)
            guard parts.count == 2, parts[1].hasSuffix(".pages"), let chain = Int(parts[0]),
                let number = Int(parts[1].dropLast(6)), (1...Self.limit).contains(chain),
                (1...Self.limit).contains(number)
            else { return nil }
            self.init(chain: chain, number: number)
            guard self.text == text else { return nil }
        }

        private static func digits(_ number: Int) -> String {
            let text = String(number)
            return String(repeating: "0", count: max(0, 6 - text.count)) + text
        }

        static func < (one: Name, other: Name) -> Bool {
            (one.chain, one.number) < (other.chain, other.number)
        }
    }

    /// The copies in a folder, in their order.
    static func names(in folder: String) throws(JournalFileFault) -> [Name] {
        guard FileIdentity(folder) != nil else {
            throw .unusable("\(folder): \(FileIdentity.systemWords())")
        }
        do {
            return try FileManager.default.contentsOfDirectory(atPath: folder)
                .compactMap { Name($0) }.sorted()
        } catch {
            throw .unusable("the folder \(folder) cannot be read")
        }
    }

    /// The first line of a copy.
    struct Head: Equatable {
        var name: Name
        var journal: String
        var pageSize: Int
        var count: Int
        /// Milliseconds since 1970.
        var time: Int64

        static let version: UInt64 = 1
        static let limitBytes = 256

        var line: [UInt8] {
            var line = JournalLine("pages", Self.version)
            line.add("chain", Int64(name.chain))
            line.add("number", Int64(name.number))
            line.add("journal", journal)
            line.add("pageSize", Int64(pageSize))
            line.add("count", Int64(count))
            line.add("time", time)
            return line.finished
        }

        init(_ name: Name, of journal: String, pageSize: Int, count: Int, time: Int64) {
            (self.name, self.journal) = (name, journal)
            (self.pageSize, self.count, self.time) = (pageSize, count, time)
        }

        /// Reads the first line of a copy.
        ///
        /// - Returns: The head, and the bytes of its line.
        static func read(_ file: PageFile) throws(JournalFileFault) -> (Head, ArraySlice<UInt8>) {
            let start = try file.read(limitBytes, at: 0)
            guard let end = start.firstIndex(of: 0x0A) else { throw foreign }
            return (try Head(Array(start[..<end])), start[...end])
        }

        /// - Parameter line: without its end.
        init(_ line: [UInt8]) throws(JournalFileFault) {
            guard let fields = JournalFields(line) else { throw Self.foreign }
            do {
                let version = try fields.number("pages")
                guard version == Self.version else {
                    throw JournalFileFault.unusable("it has version \(version) of copies of pages")
                }
                name = try Name(
                    chain: Int(fields.number("chain")), number: Int(fields.number("number")))
                journal = try fields.string("journal")
                pageSize = try Int(fields.number("pageSize"))
                count = try Int(fields.number("count"))
                time = try fields.integer("time")
            } catch let fault as JournalFileFault {
                throw fault
            } catch {
                throw Self.foreign
            }
            // SQLite's limits.
            guard (512...65_536).contains(pageSize), pageSize.nonzeroBitCount == 1,
                (1...0xFFFF_FFFE).contains(count)
            else { throw Self.foreign }
        }

        static let foreign = JournalFileFault.unusable("it is not a copy of pages")
    }

    static func bytes(of number: UInt64) -> [UInt8] {
        (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * UInt64($0))) }
    }

    static func number(_ bytes: some Sequence<UInt8>) -> UInt64 {
        bytes.reduce(0) { $0 << 8 | UInt64($1) }
    }
}

internal import GRDB

#if canImport(Glibc)
    internal import FoundationEssentials
    internal import Glibc
#else
    internal import Darwin
    internal import Foundation
#endif

/// Copies a journal into a folder again and again, each time only the pages that have changed
/// (``PageChain``). A server may be using the journal.
///
/// A chain ends when its later copies have as many bytes as its first one, when something of it was
/// removed, and with this object.
/// When the first copy of a chain is complete, all chains but this and the one before are
/// removed. So the folder has at most seven times the bytes of the journal.
package final class JournalPages {
    package struct Copy: Sendable, Equatable {
        package var path: String
        /// The pages that it has.
        package var pages: Int
        /// The pages of the journal.
        package var count: Int
    }

    private let path: String
    private let identity: FileIdentity?
    private let file: JournalFile
    private let folder: String
    private let scratch: String
    /// See ``JournalOrigin``.
    private let origin: String
    /// The file as of the last copy, and as it is now.
    private let (last, present): (String, String)
    /// SQLite's `data_version` at the last copy.
    private var seen: Int64?
    /// The last copy; nil before the first.
    private var name: PageChain.Name?
    private var sum = PageSum()
    private var (firstBytes, laterBytes) = (0, 0)

    private static let pagesOfStep = 256

    /// - Parameters:
    ///   - path: The journal.
    ///   - folder: Exists. May be on another machine's disk.
    ///   - scratch: A path below which two files of the size of the journal have room.
    package init(
        of path: String, in folder: String, scratch: String
    ) throws(JournalFileFault) {
        self.path = path
        identity = FileIdentity(path)
        file = try JournalFile(path)
        guard let origin = try file.read({ try JournalOrigin.present($0) }) else {
            throw .unusable("a server of this version must open it once")
        }
        self.origin = origin
        self.folder = folder
        self.scratch = scratch
        (last, present) = (scratch + "-last", scratch + "-present")
        try checkFolder(PageChain.names(in: folder))
    }

    /// A server that starts without its file makes another journal. Copies of that one must not
    /// remove those of the first.
    private func checkFolder(_ names: [PageChain.Name]) throws(JournalFileFault) {
        guard let newest = names.last else { return }
        let (head, _) = try PageChain.Head.read(PageFile(reading: "\(folder)/\(newest.text)"))
        guard head.journal == origin else {
            throw .unusable(
                "\(folder) has copies of another journal: restore that one, or use another folder")
        }
    }

    deinit { for path in [last, present] { FileIdentity.remove(path) } }

    /// Writes a copy with a name of its own, flushed; nil if nothing was committed since the last.
    ///
    /// After an error the next call tries again. Throws ``JournalFileFault/replaced``: `path` is
    /// another file by now.
    package func copy() throws(JournalFileFault) -> Copy? {
        guard identity == FileIdentity(path) else { throw .replaced }
        // Before the copy, so that a commit during it is seen by the next one.
        let version = try file.read { try $0.integer("PRAGMA data_version") ?? 0 }
        guard version != seen || name == nil else { return nil }
        // A cleaner of temporary files may have removed it.
        if let end = scratch.lastIndex(of: "/") {
            _ = unsafe mkdir(String(scratch[..<end]), 0o700)
        }
        FileIdentity.remove(present)
        try file.copyPages(into: present)
        let names = try PageChain.names(in: folder)
        let isFirst =
            laterBytes > firstBytes || FileIdentity(last) == nil || !isWhole(names)
        if isFirst { try checkFolder(names) }
        let next: PageChain.Name
        if let name, !isFirst {
            next = PageChain.Name(chain: name.chain, number: name.number + 1)
        } else {
            next = PageChain.Name(chain: (names.last?.chain ?? 0) + 1, number: 1)
        }
        let (copy, sum, bytes) = try write(next, after: isFirst ? nil : last)
        (seen, name, self.sum) = (version, next, sum)
        if isFirst { (firstBytes, laterBytes) = (bytes, 0) } else { laterBytes += bytes }
        guard unsafe rename(present, last) == 0 else {
            // Without it the next copy cannot be compared.
            name = nil
            throw .unusable("\(last): \(FileIdentity.systemWords())")
        }
        if isFirst {
            for old in names where old.chain < next.chain - 1 {
                _ = unsafe unlink("\(folder)/\(old.text)")
            }
        }
        return copy
    }

    /// Whether the newest chain of the folder is this one, and nothing of it was removed.
    private func isWhole(_ names: [PageChain.Name]) -> Bool {
        guard let name, names.last == name else { return false }
        return names.count { $0.chain == name.chain } == name.number
    }

    private func write(
        _ name: PageChain.Name, after earlier: String?
    ) throws(JournalFileFault) -> (Copy, PageSum, bytes: Int) {
        let source = try PageFile(reading: present)
        let before: PageFile? = if let earlier { try PageFile(reading: earlier) } else { nil }
        let size = try Self.pageSize(of: source)
        let head = PageChain.Head(
            name, of: origin, pageSize: size, count: try source.byteCount / size,
            time: Int64(Date().timeIntervalSince1970 * 1_000))
        let partial = try PartialFile(of: "\(folder)/\(name.text)", suffix: ".partial")
        let out = try PageFile(writing: partial.path)
        var (sum, place, pages) = (earlier == nil ? PageSum() : self.sum, 0, 0)
        func add(_ bytes: [UInt8]) throws(JournalFileFault) {
            sum.add(bytes)
            try out.write(bytes, at: place)
            place += bytes.count
        }
        try add(head.line)
        for start in stride(from: 0, to: head.count, by: Self.pagesOfStep) {
            let count = min(Self.pagesOfStep, head.count - start) * size
            let new = try source.read(count, at: start * size)
            let old = try before?.read(count, at: start * size) ?? []
            guard new != old else { continue }
            var changed: [UInt8] = []
            for page in stride(from: 0, to: new.count, by: size) {
                let bytes = new[page..<page + size]
                guard page + size > old.count || bytes != old[page..<page + size] else { continue }
                changed += PageChain.bytes(of: UInt64(start + page / size + 1)) + bytes
                pages += 1
            }
            try add(changed)
        }
        try add(PageChain.bytes(of: 0))
        try out.write(sum.bytes, at: place)
        try out.flush()
        try partial.finish()
        return (Copy(path: "\(folder)/\(name.text)", pages: pages, count: head.count), sum, place)
    }

    /// The file format's bytes 16 and 17; 1 stands for 65 536.
    private static func pageSize(of file: PageFile) throws(JournalFileFault) -> Int {
        let size = Int(PageChain.number(try file.read(2, at: 16)))
        return size == 1 ? 65_536 : max(size, 512)
    }
}

/// Makes a journal from the newest chain of a folder.
package struct JournalRestore: Sendable {
    private let folder: String

    package init(_ folder: String) { self.folder = folder }

    /// Writes to `<copy>.restore`, flushes it, and renames it when it is complete.
    ///
    /// Throws ``JournalFileFault``: there is no chain, a copy is missing or damaged, or `copy`
    /// exists or cannot be written.
    ///
    /// - Returns: The name of the last copy, and when it was made, in milliseconds since 1970.
    package func run(to copy: String) throws(JournalFileFault) -> (name: String, time: Int64) {
        let all = try PageChain.names(in: folder)
        guard let last = all.last else { throw .unusable("it has no copies of pages") }
        let names = all.filter { $0.chain == last.chain }
        let partial = try PartialFile(of: copy, suffix: ".restore")
        let out = try PageFile(writing: partial.path)
        var (sum, time) = (PageSum(), 0 as Int64)
        for (index, name) in names.enumerated() {
            let wanted = PageChain.Name(chain: last.chain, number: index + 1)
            guard name == wanted else { throw .unusable("\(wanted.text) is missing") }
            do {
                time = try apply(name, to: out, &sum)
            } catch JournalFileFault.unusable(let reason) {
                throw .unusable(
                    "\(name.text): \(reason); without it and the later ones, what is before it can "
                        + "be restored")
            }
        }
        try out.flush()
        try FileMark.renew(in: partial)
        try partial.finish()
        return (last.text, time)
    }

    private func apply(
        _ name: PageChain.Name, to out: PageFile, _ sum: inout PageSum
    ) throws(JournalFileFault) -> Int64 {
        let source = try PageFile(reading: "\(folder)/\(name.text)")
        let (head, line) = try PageChain.Head.read(source)
        guard head.name == name else { throw .unusable("it is the copy \(head.name.text)") }
        sum.add(line)
        var place = line.count
        while true {
            let number = try source.read(8, at: place)
            guard number.count == 8 else { throw .unusable("it is cut off") }
            sum.add(number)
            place += 8
            let page = PageChain.number(number)
            guard page > 0 else { break }
            guard page <= head.count else { throw .unusable("it is damaged") }
            let bytes = try source.read(head.pageSize, at: place)
            guard bytes.count == head.pageSize else { throw .unusable("it is cut off") }
            sum.add(bytes)
            try out.write(bytes, at: (Int(page) - 1) * head.pageSize)
            place += head.pageSize
        }
        guard try source.read(17, at: place) == sum.bytes else {
            throw .unusable("it is damaged, or continues another chain")
        }
        try out.truncate(to: head.count * head.pageSize)
        return head.time
    }
}

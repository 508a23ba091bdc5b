internal import Feeds
internal import Sessions
internal import Sockets
internal import Storage

/// The lists that streams of one loop follow.
///
/// Design (ADR-0088): a stream shows the first page of a selection. The loop reads the page again
/// when a session may have changed it, and sends the differences. So no change is lost, a slow
/// reader gets several changes as one, and it does not matter which node changed a session.
///
/// The loop reads one list at a time, and then rests four times as long as the read took. So lists
/// use at most a fifth of a thread of the archive, however many are followed.
final class FollowedLists {
    private unowned let loop: LoopResources
    private var lists: [TagSelection: FollowedList] = [:]
    private var reading: Reading?
    private var lastReading: UInt64 = 0
    private var restUntil = LoopInstant.read()

    private struct Reading {
        let list: FollowedList
        let number: UInt64
        let began: LoopInstant
        /// The answers of the loops, if there is no archive.
        var parts: [(place: TagPosition, line: ListPage.Line)] = []
        var missing = 0
    }

    /// The least time between two reads of a list.
    private static let pause = Duration.milliseconds(250)
    /// The longest time without a read. Other nodes do not report their changes to this one.
    private static let shared = Duration.seconds(1)
    private static let alone = Duration.seconds(10)

    init(_ loop: LoopResources) { self.loop = loop }

    func insert(_ reader: ListConnection, _ selection: TagSelection) {
        let list = lists[selection] ?? FollowedList(selection)
        lists[selection] = list
        list.readers.append(reader)
        reader.join(list, after: lastReading)
        look()
    }

    func remove(_ reader: ListConnection, from list: FollowedList) {
        list.readers.removeAll { $0 === reader }
        if list.readers.isEmpty { lists[list.selection] = nil }
    }

    /// Reads the list that has waited longest, if one is due.
    func look() {
        guard !lists.isEmpty else { return }
        let now = loop.now
        if let reading, now - reading.began > loop.service.watch.limit * 2 {
            self.reading = nil
            reading.list.fail(.stuck(on: loop))
        }
        if reading == nil, now >= restUntil, let list = next(now) { begin(list, now) }
        let isUrgent = reading == nil && lists.values.contains(where: \.hasNewReaders)
        loop.table.setTimer(
            token: LoopTimer.lists.rawValue,
            at: isUrgent ? restUntil : max(restUntil, now + Self.pause))
    }

    private func next(_ now: LoopInstant) -> FollowedList? {
        let changes = loop.service.tagChanges.present
        let longest = loop.sessions.sharesJournal ? Self.shared : Self.alone
        return lists.values.filter { list in
            let age = now - list.readAt
            return list.hasNewReaders || age >= longest
                || (age >= Self.pause && changes != list.seenChanges)
        }.min { $0.readAt < $1.readAt }
    }

    private func begin(_ list: FollowedList, _ now: LoopInstant) {
        lastReading += 1
        // Before the read, so that a later change causes another one.
        list.seenChanges = loop.service.tagChanges.present
        list.readAt = now
        let (number, selection) = (lastReading, list.selection)
        reading = Reading(list: list, number: number, began: now, missing: loop.peers.count)
        let isArchived = loop.sessions.taggedPage(selection) { [weak self] result in
            switch result {
            case .failure(let failure): self?.end(number, .failure(.unreadable(failure)))
            case .success(let page):
                let lines = page.heads.map { ListPage.Line($0) }
                self?.end(number, .success(ListPage(lines, areMore: page.next != nil)))
            }
        }
        if !isArchived { askLoops(selection, number) }
    }

    private func askLoops(_ selection: TagSelection, _ number: UInt64) {
        let (peers, home) = (loop.peers, loop.index)
        for index in 0..<peers.count {
            let isAsked = peers.enqueue(on: index) { other in
                let part = other.sessions.taggedPage(selection, loop: index)
                    .map { (place: $0.place, line: ListPage.Line($0.session)) }
                peers.enqueue(on: home) { $0.resources.lists.receive(part, number) }
            }
            // A loop that has stopped has no sessions.
            if !isAsked { receive([], number) }
        }
    }

    private func receive(
        _ part: [(place: TagPosition, line: ListPage.Line)], _ number: UInt64
    ) {
        guard reading?.number == number else { return }
        reading?.parts += part
        reading?.missing -= 1
        guard let reading, reading.missing == 0 else { return }
        let limit = reading.list.selection.limit
        let all = reading.parts.sorted { $0.place > $1.place }
        let lines = all.prefix(limit).map(\.line)
        end(number, .success(ListPage(lines, areMore: all.count > limit)))
    }

    private func end(_ number: UInt64, _ result: Result<ListPage, Problem>) {
        guard let reading, reading.number == number else { return }
        self.reading = nil
        restUntil = loop.now + (loop.now - reading.began) * 4
        switch result {
        case .success(let page): reading.list.show(page, number)
        case .failure(let problem): reading.list.fail(problem)
        }
        look()
    }
}

/// A list and its readers.
final class FollowedList {
    let selection: TagSelection
    var readers: [ListConnection] = []
    private(set) var page: ListPage?
    /// The count of changes before the last read.
    var seenChanges = -1
    var readAt = LoopInstant(nanoseconds: 0)
    /// The events between two pages, for all readers that have the earlier one.
    private var changes: (from: ListPage, bytes: [UInt8])?

    init(_ selection: TagSelection) { self.selection = selection }

    /// A reader gets a page that was read after its request, so that it misses no commit that was
    /// acknowledged before.
    var hasNewReaders: Bool { readers.contains { !$0.hasBegun } }

    func show(_ page: ListPage, _ number: UInt64) {
        changes = self.page.map { ($0, page.changes(since: $0)) }
        self.page = page
        for reader in readers { reader.show(number) }
    }

    func events(since earlier: ListPage, to page: ListPage) -> [UInt8] {
        if let changes, changes.from === earlier, page === self.page { return changes.bytes }
        return page.changes(since: earlier)
    }

    func fail(_ problem: Problem) {
        for reader in readers { reader.fail(problem) }
    }
}

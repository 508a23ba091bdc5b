import JSONCoding
import Storage

/// One life of a session as its committed records have it: the model of its states and events.
struct SessionLog {
    struct Event: Equatable {
        let number: UInt64
        let name: String
        let data: String
    }

    let session: String
    /// In the order in which the lives began.
    let serial: Int
    private(set) var entries: [Int] = []
    /// The record at which each version was reached.
    private var numbers: [UInt64] = []
    private(set) var lastNumber: UInt64 = 0
    private(set) var pulses: [Event] = []
    private(set) var activities: [Int] = []
    private(set) var isDeleted = false

    init(_ session: String, serial: Int) {
        self.session = session
        self.serial = serial
    }

    /// The number of mutations up to a record; nil: there is no such record.
    func version(at number: UInt64) -> Int? {
        guard number <= lastNumber else { return nil }
        return numbers.count { $0 <= number }
    }

    /// The index of the first pulse after a record.
    func firstPulse(after number: UInt64) -> Int {
        pulses.firstIndex { $0.number > number } ?? pulses.count
    }

    /// The pulses at a version, as a snapshot shows them.
    func presentPulses(at version: Int) -> String {
        let entries = entries.prefix(version)
        let third = entries.last { $0.isMultiple(of: 3) } ?? 0
        return #"{"last":\#(entries.last ?? 0),"third":\#(third)}"#
    }

    mutating func append(_ record: HistoryEntry) {
        lastNumber = max(lastNumber, record.number)
        switch record.kind {
        case .mutation:
            if case .append(let entry)? = try? JSON.decode(
                Tally.Mutation.self, from: record.content)
            {
                entries.append(entry)
            }
            numbers.append(record.number)
            pulses += record.events.map {
                Event(
                    number: record.number, name: $0.name,
                    data: String(decoding: $0.data, as: UTF8.self))
            }
        case .activity:
            if case .said(let mark)? = try? JSON.decode(
                Tally.Activity.self, from: record.content)
            {
                activities.append(mark)
            }
        case .deleted: isDeleted = true
        case .created, .failure, .note: break
        }
    }
}

/// Everything that any server process has committed, by generations.
struct SessionLogs {
    private(set) var all: [String: SessionLog] = [:]
    private var readCount = 0

    /// Reads the records that the journal has received since.
    mutating func read(_ journal: ScriptedJournal) {
        let records = journal.all
        for record in records[readCount...] where record.kind != .note {
            let new = SessionLog(record.session, serial: all.count)
            all[record.generation, default: new].append(record)
        }
        readCount = records.count
    }

    /// The journal is lost, and another one begins.
    mutating func beginJournal() { readCount = 0 }

    func lives(of session: String) -> [(generation: String, log: SessionLog)] {
        all.filter { $0.value.session == session }.sorted { $0.value.serial < $1.value.serial }
            .map { ($0.key, $0.value) }
    }
}

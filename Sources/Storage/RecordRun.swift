/// Consecutive records of one life of a session, in the form in which a file keeps them.
///
/// Why not records: their strings, arrays and events were half of what a record cost, most of it
/// memory that one thread takes and another one gives back.
package struct RecordRun: Sendable, Equatable {
    package let key: SessionKey
    /// The reactor's registered name.
    package let reactor: String
    package private(set) var text: [UInt8] = []
    package private(set) var count = 0
    package private(set) var first = RecordPlace(0)
    /// Where the last record stands, and the version there.
    package private(set) var last = RecordPlace(0)
    package private(set) var version: UInt64 = 0
    /// When the session was created, if the run begins with that.
    package private(set) var created: Int64?
    /// When it was deleted, if the run ends with that.
    package private(set) var deleted: Int64?

    /// Beyond it a session begins another one.
    static let fullBytes = 16_384

    package init(of key: SessionKey, _ reactor: String) {
        self.key = key
        self.reactor = reactor
    }

    package var isFull: Bool { text.count >= Self.fullBytes }

    /// - Precondition: the record continues the run; `write` appends it, and nothing else.
    mutating func append(_ head: RecordHead, _ write: (inout [UInt8]) -> Void) {
        precondition(count == 0 || (deleted == nil && head.place.follows(last)), "a gap in a run")
        if count == 0 {
            first = head.place
            if head.kind == .created { created = head.time }
        }
        if head.kind == .deleted { deleted = head.time }
        write(&text)
        count += 1
        last = head.place
        version = head.version
    }

    /// How much of it there is.
    package struct Mark: Sendable {
        fileprivate let bytes: Int
        fileprivate let count: Int
        fileprivate let last: RecordPlace
        fileprivate let version: UInt64
    }

    package var mark: Mark { Mark(bytes: text.count, count: count, last: last, version: version) }

    /// Takes back the records that were added since the mark.
    ///
    /// - Precondition: the mark is of this run, and had a record that was not its end.
    package mutating func takeBack(to mark: Mark) {
        text.removeSubrange(mark.bytes...)
        count = mark.count
        last = mark.last
        version = mark.version
        deleted = nil
    }

    /// - Precondition: the other one continues this one.
    package mutating func append(_ other: RecordRun) {
        precondition(deleted == nil && other.first.follows(last), "a gap between runs")
        text += other.text
        count += other.count
        last = other.last
        version = other.version
        deleted = other.deleted
    }
}

extension RecordPlace {
    /// Whether a record there comes right behind one at `last`.
    func follows(_ last: RecordPlace) -> Bool {
        guard number == last.nextNumber else { return false }
        return part == 0 || part == last.part + 1
    }
}

// Record by record, for whoever is no file.
extension Batch {
    /// - Precondition: none of them is of a life that ended before it in here.
    package init(records: [Record]) {
        var pen = RecordPen()
        for record in records {
            let key = SessionKey(session: record.session, generation: record.generation)
            if runs.last?.key != key || runs.last?.continues(with: record.place) == false {
                runs.append(RecordRun(of: key, record.reactor))
            }
            pen.begin(record.head, traceparent: record.traceparent)
            pen.content = record.content
            for event in record.events { pen.write(event.name, event.data) }
            pen.finish(in: &runs[runs.count - 1])
        }
    }

    /// Its records, in the order of the runs.
    package var records: [Record] {
        get {
            var found: [Record] = []
            for run in runs {
                do {
                    _ = try RecordText.each(run.text, of: run.key, run.reactor) { record in
                        found.append(record)
                        return true
                    }
                } catch {
                    preconditionFailure("\(error): nobody but this module writes runs")
                }
            }
            return found
        }
        set { runs = Batch(records: newValue).runs }
    }
}

extension RecordRun {
    fileprivate func continues(with place: RecordPlace) -> Bool {
        !isFull && deleted == nil && place.follows(last)
    }
}

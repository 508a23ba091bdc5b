internal import Cluster
internal import Storage

/// Appends the parts of a wave in one statement, with a verdict on each.
///
/// A part is accepted if its session's newest row ends where the part begins, as of one moment. A
/// row that another process adds meanwhile has the same key, so one of the two is refused. Rows are
/// inserted in the order of sessions, so batches never wait for each other in a circle.
struct Append {
    let connection: Connection
    let writer: Int64
    /// Set in a cluster: appends name the owner.
    let node: Node?
    let rules: Rules
    let limit: Duration

    struct Seen {
        var end: HistoryPosition?
        var isDeleted: Bool
        /// Whether the owner is the one that the part names, if it names one.
        var isOwned = true
        var owner: Node?
    }

    enum FoundRow {
        case own, another, none
    }

    /// Decides parts.
    ///
    /// - Precondition: they are of different sessions.
    /// - Returns: for each part that was refused, the end of its session; nil if no session has its
    ///   generation.
    /// - Throws: ``PostgresFault``: nothing of this attempt is in the database, unless the
    ///   connection was lost.
    func send(_ parts: [Part]) throws(PostgresFault) -> [(part: Part, seen: Seen?)] {
        var parameters: Parameters = [writer]
        let form = Form(of: parts)
        let existing = form == .whole ? parts.indices.filter { parts[$0].after != nil } : nil
        parameters.addPlaces(parts, existing)
        parameters.addRuns(parts, areWithPlaces: form == .short)
        if form == .whole { parameters.addWhole(parts) }
        let isFenced = node != nil && rules.contains(.fences)
        if let node, isFenced {
            parameters.add(node.number)
            parameters.add((existing ?? Array(parts.indices)).map { namedEpoch(of: parts[$0]) })
        }
        let found = try connection.run(
            Self.statement(
                form, isFenced: isFenced, hasOwnTimes: !rules.contains(.writesTimes)),
            parameters, within: limit)
        if rules.contains(.heedsWarnings) { try connection.refuseWarnings() }
        connection.noteCommit(CommitPoint(found, 5))
        var seen: [Int: Seen] = [:]
        for row in 0..<found.count {
            let part = parts[Int(found.integer(row, 0))]
            if found.bool(row, 4) {
                part.outcome = .committed
                continue
            }
            seen[Int(found.integer(row, 0))] = Seen(
                end: found.isNull(row, 2)
                    ? nil : HistoryPosition(column: found.integer(row, 2), found.integer(row, 3)),
                isDeleted: found.bool(row, 1))
            if isFenced, !found.bool(row, 7) {
                seen[Int(found.integer(row, 0))]?.isOwned = false
                seen[Int(found.integer(row, 0))]?.owner = found.node(row, 8, except: node)
            }
        }
        return parts.indices.compactMap { index in
            parts[index].outcome == .open ? (parts[index], seen[index]) : nil
        }
    }

    /// Nil for a part that may be in the database already. The database may have accepted it while
    /// this node was the owner, so only its place decides.
    private func namedEpoch(of part: Part) -> Int64? {
        part.mayBeWritten && rules.contains(.resubmitsWithoutFence) ? nil : part.epoch
    }

    /// Finds out whether a part is in the database: a row stands at its place that this process has
    /// written with this number. The position alone does not say whose row it is.
    ///
    /// - Returns: for each part the row at its place, and the end of its session.
    func look(for parts: [Part]) throws(PostgresFault) -> [(row: FoundRow, seen: Seen?)] {
        var parameters: Parameters = []
        parameters.addPlaces(parts, nil)
        let found = try connection.run(Self.looking, parameters, within: limit)
        var all = [(row: FoundRow, seen: Seen?)](
            repeating: (.none, nil), count: parts.count)
        for row in 0..<found.count {
            let index = Int(found.integer(row, 0))
            let seen = Seen(
                end: found.isNull(row, 2)
                    ? nil : HistoryPosition(column: found.integer(row, 2), found.integer(row, 3)),
                isDeleted: found.bool(row, 1))
            let isOwn =
                rules.contains(.recognisesItsOwn)
                ? found.integer(row, 4) == writer && found.integer(row, 5) == parts[index].number
                : !found.isNull(row, 4)
            all[index] = (isOwn ? .own : found.isNull(row, 4) ? .none : .another, seen)
        }
        return all
    }
}

extension Parameters {
    /// - Parameter some: The indices of the parts to add; nil: all.
    fileprivate mutating func addPlaces(_ parts: [Part], _ some: [Int]?) {
        let indices = some ?? Array(parts.indices)
        add(indices)
        add(indices.map { parts[$0].key.session })
        add(indices.map { parts[$0].key.generation })
        add(indices.map { parts[$0].place.number })
        add(indices.map { parts[$0].place.part })
        add(indices.map { parts[$0].runs.isEmpty ? 0 : 1 })
    }

    /// - Parameter areWithPlaces: Whether each part has one row, whose place is that of the part.
    fileprivate mutating func addRuns(_ parts: [Part], areWithPlaces: Bool = false) {
        var columns = [[Int64]](repeating: [], count: 8)
        var lines: [[UInt8]] = []
        for (index, part) in parts.enumerated() {
            var place = part.place
            for run in part.runs {
                let last = run.last.column
                let row = [
                    Int64(index), place.number, place.part, last.number, last.part,
                    Int64(clamping: run.version), Int64(run.count), part.number,
                ]
                for (column, value) in row.enumerated() { columns[column].append(value) }
                lines.append(run.text)
                place = last
            }
        }
        for column in columns[(areWithPlaces ? 3 : 0)...] { add(column) }
        add(lines)
    }

    fileprivate mutating func addWhole(_ parts: [Part]) {
        let new = parts.enumerated().filter { $0.element.after == nil }
        add(new.map(\.offset))
        add(new.map(\.element.key.session))
        add(new.map { $0.element.runs.first?.reactor ?? "" })
        add(new.map(\.element.key.generation))
        add(new.map { $0.element.runs.first?.created ?? 0 as Int64 })
        add(new.map { $0.element.runs.first?.creation.owner?.text })
        add(new.map(\.element.deleted))
        let ended = parts.enumerated().filter {
            $0.element.after != nil && $0.element.deleted != nil
        }
        add(ended.map(\.offset))
        add(ended.map { $0.element.deleted ?? 0 as Int64 })
        // The data of a session that ends are dropped.
        let living = parts.enumerated().filter { $0.element.deleted == nil }
        let snapshots = living.flatMap { one in
            one.element.snapshots.values.map { (one.offset, $0) }
        }
        add(snapshots.map(\.0))
        addColumns(of: snapshots.map(\.1))
        let answers = living.flatMap { one in
            one.element.answers.values.map { (one.offset, $0) }
        }
        add(answers.map(\.0))
        addColumns(of: answers.map(\.1))
        let actions = living.flatMap { one in one.element.actions.map { (one.offset, $0) } }
        let started = actions.compactMap { index, action in action.value.map { (index, $0) } }
        add(started.map(\.0))
        addColumns(of: started.map(\.1))
        let settled = actions.filter { $0.1.value == nil }
        add(settled.map(\.0))
        add(settled.map(\.1.key))
        add(new.map { $0.element.runs.first?.creation.input })
        let timers = living.flatMap { one in one.element.timers.map { (one.offset, $0) } }
        let set = timers.compactMap { index, timer in timer.value.map { (index, $0) } }
        add(set.map(\.0))
        addColumns(of: set.map(\.1))
        let removed = timers.filter { $0.1.value == nil }
        add(removed.map(\.0))
        add(removed.map(\.1.key.text))
        let tagged = living.flatMap { one in
            one.element.tags.map { change in change.rows.map { (one.offset, $0, change.tags) } }
                ?? []
        }
        add(tagged.map(\.0))
        add(tagged.map(\.1.name.text))
        add(tagged.map(\.1.value.text))
        add(tagged.map(\.2.changed))
    }
}

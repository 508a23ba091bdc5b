extension ModelSchedule {
    /// The first promise that was broken, if any was.
    func fault() -> String? {
        chainFault() ?? postFault() ?? orderFault() ?? contentFault()
    }

    /// Each row continues the one before it, and nothing is there twice.
    private func chainFault() -> String? {
        for (row, next) in zip(database.rows, database.rows.dropFirst())
        where row.last != next.after { return "a row after \(next.after) behind \(row.last)" }
        let marks = database.marks
        return Set(marks).count == marks.count ? nil : "a mark is there twice"
    }

    /// Acknowledged is at its position, or its loss was announced; refused is nowhere.
    private func postFault() -> String? {
        let versions = Dictionary(
            database.marks.enumerated().map { ($1, $0 + 1) },
            uniquingKeysWith: { first, _ in first })
        for request in requests {
            guard let mark = request.mark else { continue }
            if request.outcome == .refused, versions[mark] != nil {
                return "refused \(mark) is there"
            }
            guard request.outcome == .acknowledged else { continue }
            if database.lost.contains(mark) {
                let isAnnounced =
                    request.generation != database.generation
                    || database.sessionEra != database.era
                if !isAnnounced { return "\(mark) is lost, and nobody was notified" }
            } else if versions[mark] != request.version {
                return "\(mark) is not at \(request.version)"
            }
        }
        return nil
    }

    /// Requests that were answered before a request began are before it.
    private func orderFault() -> String? {
        let done = requests.filter { $0.outcome == .acknowledged || $0.outcome == .read }
        // The greatest version that was answered until a time, for each generation.
        let byEnd = done.filter { $0.mark.map { !database.lost.contains($0) } ?? true }
            .sorted { ($0.ended ?? 0) < ($1.ended ?? 0) }
        var (index, newest) = (0, [Int: Int]())
        for request in done.sorted(by: { $0.begun < $1.begun }) {
            while index < byEnd.count, let ended = byEnd[index].ended, ended < request.begun {
                let earlier = byEnd[index]
                newest[earlier.generation] = max(
                    newest[earlier.generation] ?? 0, earlier.version)
                index += 1
            }
            guard let known = newest[request.generation] else { continue }
            if request.version < known || (request.mark != nil && request.version == known) {
                return "\(request.version) was answered after \(known)"
            }
        }
        return nil
    }

    /// One position of a generation has one content.
    private func contentFault() -> String? {
        var seen: [[Int]: Int] = [:]
        for request in requests where request.outcome == .acknowledged {
            let position = [request.generation, request.version]
            if let other = seen[position], other != request.mark {
                return "two contents at \(position)"
            }
            seen[position] = request.mark
        }
        return nil
    }
}

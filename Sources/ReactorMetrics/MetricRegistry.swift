/// The series of a page, by name and labels.
struct MetricRegistry {
    /// The series with one name; all of them have the same kind.
    struct Family {
        let name: MetricName
        let kind: MetricKind
        fileprivate var entries: [MetricLabels: Entry] = [:]

        /// In the order of their labels.
        var series: [MetricSeries] {
            entries.values.map(\.series).sorted { $0.labels.text < $1.labels.text }
        }

        /// One line: `\` and line breaks are escaped.
        var help: String {
            // By scalars: a line break after a carriage return is one character with it.
            let label = name.label.unicodeScalars.map { scalar in
                switch scalar {
                case "\\": "\\\\"
                case "\n": "\\n"
                default: String(scalar)
                }
            }.joined()
            return "The program's metric \(label)."
        }
    }

    fileprivate struct Entry {
        let series: MetricSeries
        /// How often it was made and not destroyed.
        var uses: Int
    }

    private let seriesLimit: Int
    private var families: [MetricName: Family] = [:]
    private(set) var count = 0
    private var refusedForLimit: UInt64 = 0
    private var refusedForKind: UInt64 = 0

    init(seriesLimit: Int) {
        self.seriesLimit = seriesLimit
    }

    var shown: [Family] { families.values.sorted { $0.name.text < $1.name.text } }

    var refusals: [(reason: String, number: UInt64)] {
        [("kind", refusedForKind), ("limit", refusedForLimit)]
    }

    /// The series, made if there is none; nil if it is refused.
    mutating func use(
        _ name: MetricName, _ labels: MetricLabels, _ kind: MetricKind
    ) -> MetricSeries? {
        var family = families[name] ?? Family(name: name, kind: kind)
        guard family.kind == kind else {
            refusedForKind += 1
            return nil
        }
        var entry: Entry
        if let known = family.entries[labels] {
            entry = known
        } else {
            guard count < seriesLimit else {
                refusedForLimit += 1
                return nil
            }
            entry = Entry(series: MetricSeries(name, labels, kind), uses: 0)
            count += 1
        }
        entry.uses += 1
        families[name] = nil
        family.entries[labels] = entry
        families[name] = family
        return entry.series
    }

    /// Releases one use of a series, which leaves the page with the last one.
    mutating func release(_ series: MetricSeries) {
        guard var family = families[series.name], var entry = family.entries[series.labels],
            entry.series === series
        else { return }
        entry.uses -= 1
        families[series.name] = nil
        if entry.uses == 0 {
            family.entries[series.labels] = nil
            count -= 1
        } else {
            family.entries[series.labels] = entry
        }
        if !family.entries.isEmpty { families[series.name] = family }
    }
}

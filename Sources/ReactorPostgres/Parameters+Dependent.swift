internal import Storage

// The columns of dependent rows, after the column that says whose they are.
extension Parameters {
    mutating func addColumns(of all: [Snapshot]) {
        add(all.map { Int64(clamping: $0.version) })
        add(all.map { Int64(clamping: $0.number) })
        add(all.map { Int64(clamping: $0.lastAction) })
        add(all.map { Int64($0.stateVersion) })
        add(all.map(\.time))
        add(all.map(\.state))
        add(all.map { $0.listens ? 1 : 0 as Int64 })
    }

    mutating func addColumns(of all: [StoredAnswer]) {
        add(all.map { $0.key as String? })
        add(all.map(\.bodyDigest))
        add(all.map { Int64($0.status) })
        add(all.map(\.time))
        add(all.map(\.body))
    }

    mutating func addColumns(of all: [RunningAction]) {
        add(all.map { Int64(clamping: $0.action) })
        add(all.map(\.content))
        add(all.map { Int64($0.begun) })
        add(all.map(\.subject))
    }
}

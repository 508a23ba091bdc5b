internal import Storage

// The columns of dependent rows, after the column that says whose they are.
extension Parameters {
    mutating func addColumns(of all: [Snapshot]) {
        add(all.map(\.version))
        add(all.map(\.number))
        add(all.map(\.lastAction))
        add(all.map(\.stateVersion))
        add(all.map(\.time))
        add(all.map(\.state))
        add(all.map { $0.listens ? 1 : 0 })
    }

    mutating func addColumns(of all: [StoredAnswer]) {
        add(all.map(\.key))
        add(all.map(\.bodyDigest))
        add(all.map(\.status))
        add(all.map(\.time))
        add(all.map(\.body))
    }

    mutating func addColumns(of all: [RunningAction]) {
        add(all.map(\.action))
        add(all.map(\.content))
        add(all.map(\.begun))
        add(all.map(\.subject))
        add(all.map(\.attempt))
        add(all.map(\.wait))
        add(all.map(\.step))
    }

    mutating func addColumns(of all: [SessionTimer]) {
        add(all.map(\.name.text))
        add(all.map(\.number))
        add(all.map(\.due))
        add(all.map(\.content))
        add(all.map(\.begun))
    }
}

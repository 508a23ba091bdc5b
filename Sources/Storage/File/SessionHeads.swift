/// Where each session stands in the file, so that a batch is checked without reading.
///
/// A cache: what is not in it is read from the file.
struct SessionHeads {
    struct Head {
        var row: Int64
        var generation: String
        /// The newest record.
        var number: UInt64
        /// Notes behind it.
        var notes: UInt32
        var isDeleted: Bool
        /// Records since the file was last trimmed for it, roughly.
        var kept: Int
    }

    private var heads: [String: Head] = [:]

    /// Precedent: about 100 bytes each; beyond it everything is read again.
    static let limit = 200_000

    subscript(session: String) -> Head? {
        get { heads[session] }
        set {
            if newValue != nil, heads.count >= Self.limit { heads.removeAll() }
            heads[session] = newValue
        }
    }

    mutating func removeAll() { heads.removeAll() }

    /// Sessions that have more records than this, for trimming.
    func sessions(keeping limit: Int) -> [(session: String, head: Head)] {
        heads.filter { $0.value.kept > limit }.map { ($0.key, $0.value) }
    }
}

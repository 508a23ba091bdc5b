/// The keys of one object, so that lookups in a wide one are not quadratic.
struct JSONKeyIndex {
    /// The number of members above which an object gets an index; below it comparison is faster.
    static let threshold = 16
    /// The number of members above which the keys stay in memory after the search for equal ones. A
    /// text can have ten thousand objects of a medium width, and one look-up is in few of them.
    static let keptThreshold = 256

    private var table: JSONKeyTable

    init(_ table: JSONKeyTable) { self.table = table }

    init(of object: Int, in document: JSONDocument) {
        table = JSONKeyTable(forKeys: Int(document.nodes[object].count))
        let end = Int(document.nodes[object].next)
        var place = object + 1
        while place < end {
            table.add(place, JSONKeyTable.hash(of: document.nodes[place], document.bytes))
            place = Int(document.nodes[place + 1].next)
        }
    }

    func member(_ key: String, in document: JSONDocument) -> Int? {
        table.first(JSONKeyTable.hash(of: key)) { document.isKey($0, key) }.map { $0 + 1 }
    }
}

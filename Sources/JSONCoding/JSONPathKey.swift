/// One step of a path: a member's name or an element's index.
struct JSONPathKey: CodingKey {
    let stringValue: String
    let intValue: Int?

    init(_ name: String) {
        stringValue = name
        intValue = nil
    }

    init(_ index: Int) {
        stringValue = String(index)
        intValue = index
    }

    init?(stringValue: String) {
        self.init(stringValue)
    }

    init?(intValue: Int) {
        self.init(intValue)
    }
}

extension JSONPointer {
    init(_ path: [any CodingKey]) {
        self.init(tokens: path.map(\.stringValue))
    }
}

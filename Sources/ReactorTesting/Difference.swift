internal import Reactors

/// The differences between two values of one type, field by field.
///
/// Found by reflection. Values of fields are compared by their own `==`, or, without one, part by
/// part, and finally by their text. At most 20 differences, each with 300 characters of a value.
struct Difference {
    /// One line for each difference: `child.name: expected "a", actual "b"`.
    private(set) var lines: [String] = []
    private var more = 0
    private static let lineLimit = 20
    private static let textLimit = 300

    init(expected: Any, actual: Any) {
        compare(expected, actual, at: "")
        if more > 0 { lines.append("and \(more) more") }
    }

    private mutating func add(_ line: String, at path: String) {
        guard lines.count < Self.lineLimit else { return more += 1 }
        lines.append(path.isEmpty ? line : "\(path): \(line)")
    }

    private mutating func compare(_ expected: Any, _ actual: Any, at path: String) {
        if Self.areEqual(expected, actual) { return }
        let before = lines.count + more
        if let expected = expected as? any PulseShape, let actual = actual as? any PulseShape {
            comparePulses(expected, actual, at: path)
        } else {
            compareParts(expected, actual, at: path)
        }
        guard lines.count + more == before else { return }
        let (expected, actual) = (Self.text(of: expected), Self.text(of: actual))
        if expected != actual { add("expected \(expected), actual \(actual)", at: path) }
    }

    private mutating func comparePulses(
        _ expected: any PulseShape, _ actual: any PulseShape, at path: String
    ) {
        let before = lines.count + more
        compare(expected.shapeValue, actual.shapeValue, at: path)
        guard lines.count + more == before else { return }
        add(
            "expected \(Self.count(expected)), actual \(Self.count(actual)), "
                + "of \(Self.text(of: actual.shapeValue))", at: path)
    }

    private static func count(_ pulse: any PulseShape) -> String {
        let count = pulse.shapeMark.count
        return count == 1 ? "1 assignment" : "\(count) assignments"
    }

    private mutating func compareParts(_ expected: Any, _ actual: Any, at path: String) {
        let (left, right) = (Mirror(reflecting: expected), Mirror(reflecting: actual))
        guard left.subjectType == right.subjectType else { return }
        switch left.displayStyle {
        case .struct, .class, .tuple:
            for (one, other) in zip(left.children, right.children) {
                compare(one.value, other.value, at: Self.path(path, to: one))
            }
        case .optional, .enum:
            guard let one = left.children.first, let other = right.children.first,
                one.label == other.label
            else { return }
            let isOptional = left.displayStyle == .optional
            compare(one.value, other.value, at: isOptional ? path : Self.path(path, to: one))
        case .collection: compareElements(left.children, right.children, at: path)
        case .dictionary:
            guard let left = expected as? [AnyHashable: Any],
                let right = actual as? [AnyHashable: Any]
            else { return }
            compareValues(left, right, at: path)
        default: return
        }
    }

    private mutating func compareElements(
        _ expected: Mirror.Children, _ actual: Mirror.Children, at path: String
    ) {
        for (index, (one, other)) in zip(expected, actual).enumerated() {
            compare(one.value, other.value, at: "\(path)[\(index)]")
        }
        let common = min(expected.count, actual.count)
        for (index, one) in expected.dropFirst(common).enumerated() {
            add(
                "expected \(Self.text(of: one.value)), actual none",
                at: "\(path)[\(common + index)]")
        }
        for (index, one) in actual.dropFirst(common).enumerated() {
            add(
                "expected none, actual \(Self.text(of: one.value))",
                at: "\(path)[\(common + index)]")
        }
    }

    private mutating func compareValues(
        _ expected: [AnyHashable: Any], _ actual: [AnyHashable: Any], at path: String
    ) {
        let keys = Set(expected.keys).union(actual.keys).map { (Self.text(of: $0.base), $0) }
        for (text, key) in keys.sorted(by: { $0.0 < $1.0 }) {
            let place = "\(path)[\(text)]"
            switch (expected[key], actual[key]) {
            case (let one?, let other?): compare(one, other, at: place)
            case (let one?, nil): add("expected \(Self.text(of: one)), actual none", at: place)
            case (nil, let other?): add("expected none, actual \(Self.text(of: other))", at: place)
            case (nil, nil): break
            }
        }
    }

    private static func path(_ path: String, to child: Mirror.Child) -> String {
        var name = child.label ?? "?"
        // The compiler stores `@Pulse var x` as `_x`.
        if child.value is any PulseShape, name.hasPrefix("_") { name.removeFirst() }
        return path.isEmpty ? name : "\(path).\(name)"
    }

    private static func areEqual(_ one: Any, _ other: Any) -> Bool {
        func isEqual<Value: Equatable>(_ one: Value) -> Bool { one == other as? Value }
        guard let one = one as? any Equatable else { return false }
        return isEqual(one)
    }

    private static func text(of value: Any) -> String {
        let mirror = Mirror(reflecting: value)
        if mirror.displayStyle == .optional {
            return mirror.children.first.map { Self.text(of: $0.value) } ?? "nil"
        }
        let isQuoted = value is String || value is Character || value is any PulseShape
        let whole = isQuoted ? String(reflecting: value) : String(describing: value)
        guard whole.count > textLimit else { return whole }
        return "\(whole.prefix(textLimit))… (\(whole.count) characters)"
    }
}

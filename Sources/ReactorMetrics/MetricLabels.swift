/// The labels of a series, as they are on the page: `a="b",c="d"`, in the order of their names.
///
/// - The names have the characters of ``MetricName``. `le` is Prometheus' own and becomes `le_`,
///   and names that begin with two underscores lose the first ones.
/// - Of labels with the same name the first one counts. There are at most 16; the rest is omitted.
/// - A value has at most 128 characters; the rest is omitted.
struct MetricLabels: Hashable, Sendable {
    static let limit = 16
    static let valueLimit = 128

    let text: String

    init(_ dimensions: [(String, String)]) {
        var labels: [(name: String, value: String)] = []
        for (name, value) in dimensions.prefix(Self.limit) {
            let name = Self.name(name)
            guard !labels.contains(where: { $0.name == name }) else { continue }
            labels.append((name, Self.value(value)))
        }
        labels.sort { $0.name < $1.name }
        text = labels.map { "\($0.name)=\"\($0.value)\"" }.joined(separator: ",")
    }

    private static func name(_ text: String) -> String {
        var name = MetricName.permitted(text)[...]
        while name.hasPrefix("__") { name.removeFirst() }
        return name == "le" ? "le_" : String(name)
    }

    private static func value(_ text: String) -> String {
        var value = ""
        for scalar in text.unicodeScalars.prefix(valueLimit) {
            switch scalar {
            case "\\": value += "\\\\"
            case "\"": value += "\\\""
            case "\n": value += "\\n"
            default: value.unicodeScalars.append(scalar)
            }
        }
        return value
    }
}

internal import Wire

struct MediaType {
    let type: String
    let subtype: String

    var text: String { "\(type)/\(subtype)" }

    static let eventStream = MediaType(type: "text", subtype: "event-stream")
    static let html = MediaType(type: "text", subtype: "html")
    static let json = MediaType(type: "application", subtype: "json")
}

/// The media types that a client accepts: `Accept`, over all of its lines (RFC 9110 §5.3, §12.5.1).
///
/// Parameters other than the weight are ignored: no two types here differ only in them. Ranges
/// after the first ``maximumRanges`` are ignored, too: a head has room for eight thousand, but
/// browsers send fewer than ten.
struct AcceptedTypes {
    static let maximumRanges = 64

    private struct Range {
        let type: String
        let subtype: String
        /// Thousandths, 0 to 1000.
        let weight: Int

        /// 3 for the type itself, 2 for `text/*`, 1 for `*/*`; nil for other types.
        func precision(for other: MediaType) -> Int? {
            if type == "*" { return subtype == "*" ? 1 : nil }
            guard type == other.type else { return nil }
            return subtype == "*" ? 2 : subtype == other.subtype ? 3 : nil
        }
    }

    /// Nil without the field: everything is accepted.
    private var ranges: [Range]?

    init(_ head: borrowing RequestHead) {
        guard head.range(of: .accept) != nil else { return }
        var read: [Range] = []
        var rest = Self.maximumRanges
        for line in head.values(of: .accept) where rest > 0 {
            let elements = head.text(line).split(separator: ",", maxSplits: rest).prefix(rest)
            rest -= elements.count
            read += elements.compactMap(Self.range)
        }
        ranges = read
    }

    /// In thousandths: the weight of the most precise range with the type. 0: it is not accepted.
    func weight(of type: MediaType) -> Int { match(type).weight }

    /// Whether the client names `type` (not only `*/*`) with at least the weight of `other`.
    func names(_ type: MediaType, notLessThan other: MediaType) -> Bool {
        let found = match(type)
        return found.precision > 1 && found.weight > 0 && found.weight >= weight(of: other)
    }

    private func match(_ type: MediaType) -> (precision: Int, weight: Int) {
        guard let ranges else { return (0, 1_000) }
        var best = (precision: 0, weight: 0)
        for range in ranges {
            guard let precision = range.precision(for: type) else { continue }
            if precision > best.precision {
                best = (precision, range.weight)
            } else if precision == best.precision {
                best.weight = max(best.weight, range.weight)
            }
        }
        return best
    }

    private static func range(_ element: Substring) -> Range? {
        let parts = element.split(separator: ";", omittingEmptySubsequences: false)
        let names = (parts.first ?? "").trimmingSpaces.lowercased()
            .split(separator: "/", omittingEmptySubsequences: false)
        guard names.count == 2 else { return nil }
        return Range(
            type: String(names[0]), subtype: String(names[1]), weight: weight(parts.dropFirst()))
    }

    /// The weight among a range's parameters (RFC 9110 §12.4.2): `q=0` to `q=1`, with at most three
    /// decimals. 1 without one, or with one that cannot be read, because the type was named.
    private static func weight(_ parameters: ArraySlice<Substring>) -> Int {
        for parameter in parameters {
            let pair = parameter.split(separator: "=", maxSplits: 1)
            guard pair.count == 2, pair[0].trimmingSpaces.lowercased() == "q" else { continue }
            return thousandths(pair[1].trimmingSpaces) ?? 1_000
        }
        return 1_000
    }

    private static func thousandths(_ text: Substring) -> Int? {
        let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        let decimals = parts.count > 1 ? parts[1] : ""
        guard parts[0] == "0" || parts[0] == "1", decimals.utf8.count <= 3,
            decimals.utf8.allSatisfy({ (0x30...0x39).contains($0) })
        else { return nil }
        let zeros = String(repeating: "0", count: 3 - decimals.utf8.count)
        guard let part = Int(decimals + zeros) else { return nil }
        return parts[0] == "0" ? part : part == 0 ? 1_000 : nil
    }
}

extension StringProtocol {
    /// The text without leading and trailing characters for which `isSurplus` returns true.
    func trimmed(while isSurplus: (Character) -> Bool) -> SubSequence {
        var rest = drop(while: isSurplus)
        while let last = rest.last, isSurplus(last) { rest.removeLast() }
        return rest
    }

    /// The text without leading and trailing spaces and tabs (RFC 9110 §5.6.3).
    var trimmingSpaces: SubSequence { trimmed { $0 == " " || $0 == "\t" } }
}

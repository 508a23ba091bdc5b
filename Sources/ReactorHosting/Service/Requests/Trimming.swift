extension StringProtocol {
    /// The text without the characters at either end for which `isSurplus` returns true.
    func trimmed(while isSurplus: (Character) -> Bool) -> SubSequence {
        var rest = drop(while: isSurplus)
        while let last = rest.last, isSurplus(last) { rest.removeLast() }
        return rest
    }

    /// The text without spaces and tabs around it (RFC 9110 §5.6.3).
    var trimmingSpaces: SubSequence { trimmed { $0 == " " || $0 == "\t" } }
}

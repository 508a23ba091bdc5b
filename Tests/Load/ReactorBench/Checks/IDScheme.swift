/// The format of a server's event ids, which decides how gaps are found.
enum IDScheme: String, CaseIterable, Sendable {
    /// `<generation>.<number>[.<part>]`: numbers rise by one, parts count up before the bare
    /// number.
    case consecutive
    /// The same, but numbers may skip (other records lie between the chosen events).
    case rising
    /// nchan's `<time>:<sequence>`: within one second the sequence rises by one, from 0.
    case nchan
    /// A decimal number that rises by one.
    case number
    /// Ids are ignored.
    case none
}

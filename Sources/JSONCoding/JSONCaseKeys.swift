/// The cases of the enum of coding keys that Swift synthesises.
///
/// Why: such an enum is not `CaseIterable`, and no API lists its cases. Read once, when a reactor is
/// registered.
enum JSONCaseKeys {
    /// Empty unless the type is an enum without payloads and with at most 256 cases.
    static func names<Key: CodingKey>(of type: Key.Type) -> [String] {
        JSONEnumCases.values(of: type).map(\.stringValue)
    }
}

internal import JSONCoding
internal import Storage

/// The names of a session's activities. An activity's event has the name of its case. Names are
/// compared by their bytes, as clients compare them.
///
/// The names that the reactor has announced come first, then other names in order of first use.
package struct ActivityNames {
    /// Invariant: contains no announced name.
    private var unannounced: [String] = []
    private var prefixes: [[UInt8]] = []

    private static let limit = 256

    /// The index of a name; nil if an event cannot have the name, or if there are too many names.
    package mutating func index(named name: String, in catalog: EventCatalog) -> Int? {
        if let index = catalog.activities.firstIndex(exactly: name) { return index }
        let announced = catalog.activities.count
        if let index = unannounced.firstIndex(exactly: name) {
            return announced + index
        }
        guard EventName.faults(in: catalog.pulses + [name]).isEmpty,
            unannounced.count < Self.limit
        else { return nil }
        unannounced.append(name)
        prefixes.append(EventFramer.prefix(name))
        return announced + unannounced.count - 1
    }

    package func name(at index: Int, in catalog: EventCatalog) -> String {
        let announced = catalog.activities
        return index < announced.count
            ? announced[index] : unannounced[index - announced.count]
    }

    /// The constant beginning of the activity's events.
    package func prefix(at index: Int, in catalog: EventCatalog) -> [UInt8] {
        let announced = catalog.activityPrefixes
        return index < announced.count
            ? announced[index] : prefixes[index - announced.count]
    }

    /// The name of an encoded activity: that of `{"type":"x",…}`, of `"x"`, or of `{"x":…}`.
    package static func name(of encoded: [UInt8]) -> String? {
        switch try? JSON.decode(JSONValue.self, stored: encoded) {
        case .string(let name): return name
        case .object(let members):
            if case .string(let name)? = members.first(where: { $0.key == "type" })?.value {
                return name
            }
            return members.first?.key
        default: return nil
        }
    }
}

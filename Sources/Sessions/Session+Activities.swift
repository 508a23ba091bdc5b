internal import JSONCoding

// An activity's event is named after its case.
extension Session {
    /// The place of an encoded activity's name in the session's table of names: that of
    /// `{"type":"x",…}`, of `"x"`, or of `{"x":…}`. Nil if it has none that an event can bear.
    func activityIndex(naming encoded: [UInt8]) -> Int? {
        Self.name(of: encoded).flatMap { activityIndex(named: $0) }
    }

    func activityIndex(named name: String) -> Int? {
        if let index = registration.activities.firstIndex(of: name) { return index }
        let announced = registration.activities.count
        if let index = unannounced.firstIndex(where: { $0.name == name }) {
            return announced + index
        }
        guard Registration.faults(inEvents: registration.pulses + [name]).isEmpty,
            unannounced.count < 256
        else { return nil }
        unannounced.append((name, EventFramer.prefix(name)))
        return announced + unannounced.count - 1
    }

    func activityName(_ index: Int) -> String {
        let announced = registration.activities
        return index < announced.count
            ? announced[index] : unannounced[index - announced.count].name
    }

    func activityPrefix(_ index: Int) -> [UInt8] {
        let announced = registration.activityPrefixes
        return index < announced.count
            ? announced[index] : unannounced[index - announced.count].prefix
    }

    private static func name(of encoded: [UInt8]) -> String? {
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

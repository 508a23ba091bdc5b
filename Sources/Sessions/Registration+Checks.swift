internal import Feeds
internal import JSONCoding
public import Reactors
internal import Storage

// Refuses reactors whose sessions could not be restored later.
extension Registration {
    /// Whether states can be saved and read back, tested with the initial state.
    static func faults<State: Codable>(inState initial: State) -> [String] {
        if State.self is AnyObject.Type {
            return [
                "the state is a class; it must be a struct or an enum, so that it can be copied"
            ]
        }
        var written: [UInt8] = []
        do throws(JSONEncodingFailure) {
            try JSON.encode(initial, into: &written)
        } catch {
            return ["the initial state can't be written as JSON: \(error)"]
        }
        var again: [UInt8] = []
        do {
            try JSON.encode(try JSON.decode(State.self, from: written), into: &again)
        } catch let refusal as JSONRefusal {
            return ["the initial state can't be read back from its JSON: \(refusal.sentence)"]
        } catch {
            return ["the initial state can't be written again after it was read back: \(error)"]
        }
        guard written == again else {
            return ["the initial state is not the same after it was read back from its JSON"]
        }
        return []
    }

    /// Why a list would lack a tag of the initial state.
    @usableFromInline
    static func faults(in tags: Tags) -> [String] {
        SessionTags.kept(of: tags).fault.map { ["tags(of:) of the initial state: \($0)"] } ?? []
    }

    /// Activities that could not be emitted, because their case has a reserved name.
    ///
    /// An enum that decodes any name, for forward compatibility, is not checked.
    static func faults<Activity: Codable>(
        inActivity type: Activity.Type, announced: [String]
    ) -> [String] {
        guard !JSON.hasCase("no case has this name", type) else { return [] }
        return EventName.reserved.subtracting(announced).sorted().filter { JSON.hasCase($0, type) }
            .map {
                "the activity \($0) has a reserved name; its case needs another one"
            }
    }

    /// Cases that can be neither encoded nor decoded, because one of their fields has the name of
    /// the key that names the case.
    static func faults<Tagged: Codable>(inCasesOf type: Tagged.Type, _ what: String) -> [String] {
        JSON.casesWithReservedField(type).map {
            "the \(what) \($0) has a field called \"type\", which names the case; rename it"
        }
    }
}

package import Reactors

extension JSON {
    /// The name on the wire of the pulse to which a key path leads; nil if the path leads to no
    /// pulse of the state itself.
    ///
    /// Why by an assignment: a key path to a property wrapper's projection has no name, and does
    /// not equal the stored field's. Only with its own field the mark that it reads changes.
    package static func pulseName<State: Encodable, Value>(
        at path: KeyPath<State, Pulse<Value>>, in state: State
    ) -> String? {
        let before = state[keyPath: path].mark
        return pulses(of: state).first { field in
            var assigned = state
            field.countAssignment(in: &assigned)
            return assigned[keyPath: path].mark != before
        }?.name
    }
}

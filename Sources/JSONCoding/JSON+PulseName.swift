package import Reactors

extension JSON {
    /// The name on the wire of the pulse to which a key path leads; nil if the path leads to no pulse of
    /// the state itself.
    ///
    /// Why by an assignment: a key path to a property wrapper's projection has no name, and is not equal
    /// to the path of the stored field. The mark that the path reads changes with the field that it
    /// reads, and with no other.
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

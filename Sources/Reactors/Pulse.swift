/// A field of a state for which every *assignment* is an event, even of an equal value.
///
/// ```swift
/// struct State { @Pulse var alertMessage: String? }
/// ```
///
/// Only assignments count; reads, copies and `init` do not. A change in place
/// (`state.items.append(x)`) costs as much as without the wrapper and counts once.
///
/// A server streams the pulses that the state itself declares. It refuses a reactor with a pulse
/// inside another value of the state: a struct, an array, an optional, a case.
///
/// Two pulses are equal if value *and* count are equal: after an assignment of an equal value a
/// pulse differs from its earlier copy, while two new pulses with the same value are equal.
@propertyWrapper
public struct Pulse<Value> {
    // Stored, not computed from a `didSet`: an observer copies the value out and back on a change
    // in place, which would copy an array.
    @usableFromInline
    var stored: Value

    /// The mark of this pulse: compare two with `isAssignment(since:)`.
    // Invariant: stored, and next to the value: `PulseField` reads it at a fixed offset.
    @usableFromInline
    package internal(set) var mark: PulseMark

    /// Makes a pulse that was never assigned.
    @inlinable
    public init(wrappedValue: Value) {
        stored = wrappedValue
        mark = PulseMark(lineage: nextLineage(), count: 0)
    }

    /// Makes a pulse of a new lineage with the given number of assignments.
    package init(value: Value, valueUpdatedCount: UInt) {
        stored = value
        mark = PulseMark(lineage: nextLineage(), count: valueUpdatedCount)
    }

    /// The value. Assigning it, or changing it in place, counts once.
    @inlinable
    public var value: Value {
        _read { yield stored }
        // Counted first: a change that ends with an error has modified the value nevertheless.
        _modify {
            mark.count &+= 1
            yield &stored
        }
    }

    /// How often the value was assigned: 0 after `init`, wraps from `UInt.max` to 0.
    @inlinable
    public var valueUpdatedCount: UInt { mark.count }

    /// The value, under the name that a property wrapper requires.
    @inlinable
    public var wrappedValue: Value {
        _read { yield value }
        _modify { yield &value }
    }

    /// The pulse itself: `state.$alertMessage`.
    @inlinable
    public var projectedValue: Pulse<Value> { self }
}

extension Pulse: Sendable where Value: Sendable {}

extension Pulse: CustomDebugStringConvertible {
    /// The value's text, so that a printed state has the values of its pulses.
    public var debugDescription: String { String(reflecting: stored) }
}

extension Pulse: Equatable where Value: Equatable {
    /// Whether value and count are equal.
    @inlinable
    public static func == (left: Pulse, right: Pulse) -> Bool {
        left.mark.count == right.mark.count && left.stored == right.stored
    }
}

extension Pulse: Hashable where Value: Hashable {
    /// Hashes value and count.
    @inlinable
    public func hash(into hasher: inout Hasher) {
        hasher.combine(mark.count)
        hasher.combine(stored)
    }
}

/// Carries a value of a loop through another thread and back to the loop.
///
/// Why unchecked: a read of the archive runs on a thread of the journal, and its result is sent
/// back through ``FeedLoop/Hop``; the closure that handles the result belongs to the loop. Without
/// this type, the closures would be kept in a table and found again by number. Invariant: only a
/// job on the loop opens the value.
package struct LoopBound<Value>: @unchecked Sendable {
    private let value: Value

    package init(_ value: Value) { self.value = value }

    /// Opens the value on the loop. Having the loop's feeds proves that the caller is on the loop.
    package func open(on loop: FeedLoop) -> Value { value }

    /// Opens the value for a caller that is on the loop for another reason.
    package func open() -> Value { value }
}

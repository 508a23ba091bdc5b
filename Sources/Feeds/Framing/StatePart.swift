package import JSONCoding

/// A state as clients see it at one version, with the parts that the streams of its session show.
///
/// Design: the state is encoded once for all streams of its session, and searched once for all
/// their pointers, also for those that name nothing. A part is a view of the bytes.
package final class ShownVersion {
    package let bytes: ArraySlice<UInt8>
    private let pass: PassMeter
    private let pointers: () -> [JSONPointer]
    /// Nil before the first part is asked for.
    private var found: (state: [UInt8], parts: JSONParts)?

    /// - Parameters:
    ///   - pass: counts the searches.
    ///   - pointers: those for which ``part(_:)`` will be called: they are found together.
    package init(
        _ bytes: ArraySlice<UInt8>, _ pass: PassMeter,
        for pointers: @escaping () -> [JSONPointer] = { [] }
    ) {
        self.bytes = bytes
        self.pass = pass
        self.pointers = pointers
    }

    package convenience init(_ bytes: [UInt8], _ pass: PassMeter) { self.init(bytes[...], pass) }

    /// Whether values of this length are sent as patches.
    func isPatched(_ count: Int) -> Bool { pass.patchedBytes.contains(count) }

    /// A patch from the last shown value to this state, or to a part of it; nil if it is not
    /// smaller than half, or takes too much work.
    ///
    /// - Parameter isUnique: as in ``JSONPatch/difference(from:to:within:isUnique:work:)``.
    func patch(
        from before: ArraySlice<UInt8>, to value: ArraySlice<UInt8>, isUnique: inout Bool
    ) -> [UInt8]? {
        var (limits, work) = (JSONPatch.DifferenceLimits(), 0)
        // Proportional to the bytes, because there may be many small parts or states.
        limits.work = min(limits.work, 4 * (before.count + value.count))
        defer { pass.countPatch(work) }
        return JSONPatch.difference(
            from: Array(before), to: Array(value), within: limits, isUnique: &isUnique, work: &work)
    }

    /// The part of the state that the pointer names; nil if there is none.
    package func part(_ pointer: JSONPointer) -> ArraySlice<UInt8>? {
        let present: (state: [UInt8], parts: JSONParts)
        if let found, found.parts.includes(pointer) {
            present = found
        } else {
            // Of an array's whole slice this is the array, not a copy.
            let state = Array(bytes)
            pass.count(state.count)
            present = (state, JSONParts(pointers() + [pointer], of: state))
            found = present
        }
        return present.parts[pointer].map { present.state[$0] }
    }
}

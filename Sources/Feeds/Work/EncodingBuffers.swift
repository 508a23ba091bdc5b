package import JSONCoding

/// Memory that the encoders of a loop reuse.
///
/// Why a class: `scratch` and `space` are passed inout at the same time. In a struct both would be
/// one access to the table's property.
package final class EncodingBuffers {
    /// Bytes that are used within one call.
    package var scratch: [UInt8] = []
    package var space = JSONEncodingSpace()

    package init() {}

    private static let keptBytes = 65_536

    /// Removes the scratch memory from here, empty. The caller returns it to
    /// ``releaseScratch(_:)``; a call in between gets new memory.
    package func takeScratch() -> [UInt8] {
        var taken: [UInt8] = []
        swap(&taken, &scratch)
        taken.removeAll(keepingCapacity: true)
        return taken
    }

    /// Gives up a buffer that grew under peak load.
    func shrinkScratch() {
        if scratch.capacity > Self.keptBytes { scratch = [] }
    }

    package func releaseScratch(_ taken: consuming [UInt8]) {
        // A buffer that grew under peak load is not kept.
        if taken.capacity <= Self.keptBytes { scratch = taken }
    }
}

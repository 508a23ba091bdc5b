package import TestRandomness

/// The bytes of one run of a fuzz target.
///
/// They are the input alone, without bytes that control the run, so that seeds are files that a
/// reader understands; other choices of a run are derived from a hash of the bytes.
package struct FuzzInput {
    package let bytes: [UInt8]
    /// Choices of this run: the same bytes give the same ones.
    package var generator: SeededGenerator

    /// - Parameters:
    ///   - start: as libFuzzer passes it; nil if there are no bytes.
    ///   - count: the number of bytes.
    package init(_ start: UnsafePointer<UInt8>?, _ count: Int) {
        unsafe self.init(Array(UnsafeBufferPointer(start: start, count: count)))
    }

    package init(_ bytes: [UInt8]) {
        self.bytes = bytes
        // FNV-1a.
        generator = SeededGenerator(
            seed: bytes.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 })
    }

    /// Three ways to split the bytes: everywhere, at one offset, at up to six.
    package mutating func cuts() -> [[Int]] {
        cuts(of: bytes.count)
    }

    package mutating func cuts(of count: Int) -> [[Int]] {
        let some = (0..<Int.random(in: 2...6, using: &generator)).map { _ in
            Int.random(in: 0...count, using: &generator)
        }
        return [Array(0..<count), [Int.random(in: 0...count, using: &generator)], some.sorted()]
    }
}

/// Ends the process if a promise is broken; libFuzzer then keeps the input.
package func require(_ isKept: Bool, _ promise: @autoclosure () -> String) {
    guard !isKept else { return }
    fatalError(promise())
}

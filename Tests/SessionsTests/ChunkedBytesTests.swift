import TestRandomness
@testable import Feeds
@testable import Sessions
import Storage
import Testing

@Suite("ChunkedBytes — bytes at offsets that never change", .timeLimit(.minutes(60)))
struct ChunkedBytesTests {
    @Test(arguments: 0..<40 as Range<UInt64>)
    func `it behaves like an array that is cut and extended at its ends`(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var log = ChunkedBytes()
        var model: [UInt8] = []
        var start = 0
        for step in 0..<400 {
            let size = Int.random(
                in: 0..<[3, 200, 70_000][step % 50 == 0 ? 2 : step % 2], using: &generator)
            let bytes = [UInt8](repeating: UInt8(truncatingIfNeeded: step), count: size)
            switch Int.random(in: 0..<8, using: &generator) {
            case 0...3:
                #expect(log.append(bytes) == start + model.count)
                model += bytes
            case 4:
                log.prepend(bytes)
                model = bytes + model
                start -= size
            case 5:
                let offset = start + Int.random(in: 0...model.count, using: &generator)
                log.drop(before: offset)
                model.removeFirst(offset - start)
                start = offset
            case 6:
                let offset = start + Int.random(in: 0...model.count, using: &generator)
                log.drop(from: offset)
                model.removeLast(start + model.count - offset)
            default:
                let offset = start + Int.random(in: 0...model.count, using: &generator)
                #expect(read(log, from: offset) == model[(offset - start)...])
            }
            #expect((log.start, log.end, log.count) == (start, start + model.count, model.count))
        }
        #expect(read(log, from: start) == model[...])
    }

    @Test func `a piece keeps its bytes while others around it are dropped`() {
        var log = ChunkedBytes()
        var pieces: [(Range<Int>, [UInt8])] = []
        for number in 0..<200 {
            let bytes = [UInt8](repeating: UInt8(number), count: number * 7 % 500)
            let offset = log.append(bytes)
            pieces.append((offset..<(offset + bytes.count), bytes))
        }
        log.drop(before: pieces[50].0.lowerBound)
        log.drop(from: pieces[150].0.lowerBound)
        for (range, bytes) in pieces[50..<150] { #expect(Array(log.piece(range)) == bytes) }
    }

    @Test func `a reader that stops gets no further pieces`() {
        var log = ChunkedBytes()
        for _ in 0..<100 { log.append([UInt8](repeating: 1, count: 5_000)) }
        var calls = 0
        log.read(from: 0) { _ in
            calls += 1
            return calls < 3
        }
        #expect(calls == 3)
    }

    private func read(_ log: ChunkedBytes, from offset: Int) -> ArraySlice<UInt8> {
        var bytes: [UInt8] = []
        log.read(from: offset) { span in
            for index in 0..<span.count { bytes.append(span[index]) }
            return true
        }
        return bytes[...]
    }
}

import FuzzSupport
import Feeds
import Storage

@main enum PositionsTarget: FuzzTarget {}

/// Positions: a text that is accepted is the text that is written; positions are in one order, and
/// the one that follows another is after it.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzPositions(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = unsafe FuzzInput(start, count)
    var positions: [Position] = []
    for line in input.bytes.split(separator: 0x0a, omittingEmptySubsequences: false).prefix(4) {
        let text = String(decoding: line, as: UTF8.self)
        guard let position = Position(text) else { continue }
        require(Array(position.text.utf8) == Array(line), "\(text) is written as \(position.text)")
        require(Position(position.text[...]) == position, "\(text) is read as another position")
        require(Generation(line.prefix(8)) == position.generation, "another generation")
        positions.append(position)
    }
    for left in positions {
        for right in positions { checkOrder(left.inHistory, right.inHistory) }
    }
    return 0
}

private func checkOrder(_ left: HistoryPosition, _ right: HistoryPosition) {
    let relations = [left < right, left == right, right < left].filter { $0 }
    require(relations.count == 1, "\(left) and \(right) have no order")
    guard left.number < 1 << 62, right.number < 1 << 62 else { return }
    if right.follows(left) { require(left < right, "\(right) follows \(left) and is not after it") }
    require(left.recordBefore <= left, "the record before \(left) is after it")
    require(HistoryEnd(left, version: 0).position == left, "the end at \(left) is elsewhere")
}

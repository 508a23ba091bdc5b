import FuzzSupport
import Wire

@testable import Feeds
@testable import ReactorHosting
@testable import Sessions

@main enum VectorsTarget: FuzzTarget {}

/// The vector and the query of a stream of several sessions.
///
/// The first line is the vector, the second one the query; without a second line the first one is
/// the query as well. A vector that is accepted is the text that is written, and has a position,
/// `-` or `x` for each session; an entry that moves leaves the others as they are. A query that is
/// accepted has sessions of which each is an id and none is there twice, and means the same when it
/// is written again; any other one is refused with 400.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzVectors(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    var input = unsafe FuzzInput(start, count)
    let lines = input.bytes.split(
        separator: 0x0a, maxSplits: 1, omittingEmptySubsequences: false)
    let text = String(decoding: lines[0], as: UTF8.self)
    checkVector(text, &input.generator)
    for limit in [1, 3, 100] {
        checkQuery(lines[lines.count - 1], lastEventID: nil, limit)
        if lines.count == 2 { checkQuery(lines[1], lastEventID: lines[0], limit) }
    }
    return 0
}

// MARK: Vectors

private func checkVector(_ text: String, _ generator: inout some RandomNumberGenerator) {
    var entries = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
    let count = entries.count
    require(StreamVector(text, count: count + 1) == nil, "\(text) has \(count + 1) entries")
    require(StreamVector(text, count: count - 1) == nil, "\(text) has \(count - 1) entries")
    let isVector = entries.allSatisfy { $0 == "-" || $0 == "x" || Position($0) != nil }
    guard var vector = StreamVector(text, count: count) else {
        return require(!isVector, "\(text) is refused")
    }
    require(isVector, "\(text) is accepted")
    check(vector, entries)
    guard count <= 64 else { return }
    // Entries of all lengths, at all indices.
    for _ in 0..<8 {
        let index = Int.random(in: 0..<count, using: &generator)
        if Bool.random(using: &generator) {
            entries[index] = "x"
            vector.end(index)
        } else {
            let most = UInt64.max >> UInt64.random(in: 0..<64, using: &generator)
            let number = UInt64.random(in: 0...most, using: &generator)
            entries[index] = "aaaaaaaa.\(number)"
            vector.advance(index, to: entries[index].utf8)
        }
        check(vector, entries)
    }
}

private func check(_ vector: StreamVector, _ entries: [String]) {
    let text = entries.joined(separator: ",")
    require(vector.string == text, "\(text) is written as \(vector.string)")
    require(StreamVector(text, count: entries.count) == vector, "\(text) is read as another one")
    require(vector.count == entries.count, "\(text) has \(vector.count) entries")
    require(vector.isOver == entries.allSatisfy { $0 == "x" }, "\(text): isOver")
    for (index, entry) in entries.enumerated() {
        require(vector.isOver(at: index) == (entry == "x"), "\(text): isOver at \(index)")
        let position = entry == "x" || entry == "-" ? nil : entry
        require(vector.position(at: index) == position, "\(text): the position at \(index)")
    }
}

// MARK: Queries

private func checkQuery(_ query: ArraySlice<UInt8>, lastEventID: ArraySlice<UInt8>?, _ limit: Int) {
    guard let request = request(query, lastEventID) else { return }
    let read: JointQuery
    do {
        read = try JointQuery(request, limit: limit)
    } catch {
        require(error.status == 400, "the status \(error.status) of \(error.code)")
        require(error.detail.utf8.count <= Problem.detailLimit, "a long sentence")
        return
    }
    let texts = read.sessions.map(\.text)
    require((1...limit).contains(texts.count), "\(texts.count) sessions of \(limit)")
    require(Set(texts).count == texts.count, "one of \(texts) is there twice")
    require(texts.allSatisfy { SessionID($0) != nil }, "\(texts) are no ids")
    require(read.vector?.count ?? texts.count == texts.count, "a vector of another length")
    if let text = request.head.text(of: .lastEventID), !text.isEmpty {
        require(
            read.vector == StreamVector(text, count: texts.count), "not the vector of the field")
    }
    // More items than a query may have.
    guard read.pulses.count + texts.count <= limit + 90 else { return }
    guard let again = written(read), let copy = try? JointQuery(again, limit: limit) else {
        fatalError("the query cannot be written again: \(texts)")
    }
    require(copy == read, "the query has another meaning when it is written again")
}

/// Nil for bytes that are not in a request.
private func request(_ query: ArraySlice<UInt8>, _ lastEventID: ArraySlice<UInt8>?) -> Request? {
    var bytes = Array("GET /v1/events?".utf8) + query + Array(" HTTP/1.1\r\nHost: h\r\n".utf8)
    if let lastEventID {
        bytes += Array("Last-Event-ID: ".utf8) + lastEventID + Array("\r\n".utf8)
    }
    bytes += Array("\r\n".utf8)
    // An escaped query is longer than the input.
    var limits = RequestLimits()
    (limits.targetBytes, limits.headBytes) = (1 << 16, 1 << 17)
    var reader = RequestReader(limits: limits)
    var (request, body, offset) = (Request(), [UInt8](), 0)
    guard
        let progress = try? reader.next(bytes.span, at: &offset, head: &request.head, body: &body),
        progress == .complete, offset == bytes.count
    else { return nil }
    return request
}

/// The query in another order and with other escapes.
private func written(_ query: JointQuery) -> Request? {
    var items = ["ids=\(query.idsAreOwn ? "o%77n" : "v%65ctor")"]
    items.append("ping=\(query.heartbeatIsEvent ? "events" : "comments")")
    switch query.start {
    case .now: items.append("from=now")
    case .start: items.append("from=start")
    case .snapshot, .after: break
    }
    items.append("after=\(query.vector?.string ?? "none")")
    let kinds = query.kinds
    for (name, isWanted) in [
        ("pulses", kinds.pulses), ("activities", kinds.activities), ("states", kinds.states),
    ] where isWanted {
        items.append("only=\(name)")
    }
    items += query.pulses.map { "pulse=\(escaped($0))" }
    items += query.sessions.map { "session=\(escaped($0.text))" }
    return request(Array(items.joined(separator: "&").utf8)[...], nil)
}

private func escaped(_ text: String) -> String {
    text.utf8.map {
        "%" + ($0 < 16 ? "0" : "") + String($0, radix: 16)
    }.joined()
}

extension JointQuery {
    fileprivate static func == (one: JointQuery, other: JointQuery) -> Bool {
        one.sessions == other.sessions && one.vector == other.vector
            && one.idsAreOwn == other.idsAreOwn && one.heartbeatIsEvent == other.heartbeatIsEvent
            && one.pulses == other.pulses && one.kinds == other.kinds
            && one.startName == other.startName
    }

    /// Of a text that is no vector each session begins with a reset, whatever `from` says.
    private var startName: String { vector == nil ? "" : "\(start)" }
}

extension EventKinds {
    fileprivate static func == (one: EventKinds, other: EventKinds) -> Bool {
        (one.pulses, one.activities, one.states) == (other.pulses, other.activities, other.states)
    }
}

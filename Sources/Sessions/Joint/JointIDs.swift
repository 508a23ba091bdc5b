internal import Feeds
internal import Wire

/// The names and the ids of a stream of several sessions: `<session>/<name>`, and the vector or
/// `<session>/<position>`.
struct JointIDs {
    private(set) var vector: StreamVector
    /// `?ids=own`: an event has the position of its session only; the client keeps the vector.
    let areOwn: Bool
    private let sessions: [[UInt8]]

    private static let event = Array("event: ".utf8)
    private static let id = Array("id: ".utf8)
    private static let slash = UInt8(ascii: "/")
    private static let lineEnd = UInt8(ascii: "\n")
    private static let end = Array("end".utf8)

    init(_ sessions: [SessionID], _ vector: StreamVector, areOwn: Bool) {
        self.sessions = sessions.map { Array($0.text.utf8) }
        self.vector = vector
        self.areOwn = areOwn
    }

    /// Appends the first lines of a session's event. If it has an id, moves its entry forward.
    mutating func append(_ head: EventHead, of index: Int, to out: inout [UInt8]) {
        if let position = head.position {
            appendFields(of: index, name: head.name, position: position, to: &out)
        } else if let name = head.name {
            // The client's position stays the same until the snapshot that follows.
            appendName(of: index, name, to: &out)
        }
    }

    /// Appends the first lines of a session's event, and moves its entry forward.
    ///
    /// - Parameters:
    ///   - name: nil for a block that sets the id and has no event.
    ///   - position: the id on the session's own stream.
    private mutating func appendFields(
        of index: Int, name: ArraySlice<UInt8>?, position: ArraySlice<UInt8>, to out: inout [UInt8]
    ) {
        // Nothing follows it on this stream or on one that continues it.
        if let name, name.elementsEqual(Self.end) {
            vector.end(index)
        } else {
            vector.advance(index, to: position)
        }
        if let name { appendName(of: index, name, to: &out) }
        appendID(of: index, to: &out)
    }

    /// Appends the `end` of a session that has no stream here.
    mutating func appendEnd(of index: Int, data: [UInt8], to out: inout [UInt8]) {
        appendFields(of: index, name: Self.end[...], position: [], to: &out)
        appendData(data, to: &out)
    }

    /// Appends an event without an id: the client's position stays the same.
    func append(_ name: String, of index: Int, data: [UInt8], to out: inout [UInt8]) {
        appendName(of: index, Array(name.utf8)[...], to: &out)
        appendData(data, to: &out)
    }

    /// Appends the line `event` of a session's event.
    private func appendName(of index: Int, _ name: ArraySlice<UInt8>, to out: inout [UInt8]) {
        out.append(contentsOf: Self.event)
        out.append(contentsOf: sessions[index])
        out.append(Self.slash)
        out.append(contentsOf: name)
        out.append(Self.lineEnd)
    }

    private func appendID(of index: Int, to out: inout [UInt8]) {
        out.append(contentsOf: Self.id)
        if areOwn {
            out.append(contentsOf: sessions[index])
            out.append(Self.slash)
            out.append(contentsOf: vector.entry(index))
        } else {
            vector.append(to: &out)
        }
        out.append(Self.lineEnd)
    }

    /// - Parameter data: one line of JSON.
    private func appendData(_ data: [UInt8], to out: inout [UInt8]) {
        out.append(contentsOf: "data: ".utf8)
        out.append(contentsOf: LineSeparators.escaped(data[...]))
        out.append(Self.lineEnd)
        out.append(Self.lineEnd)
    }
}

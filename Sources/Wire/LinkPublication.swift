/// A value of a topic, for the sessions of the node that it is sent to, or for those of all nodes.
package struct LinkPublication: Equatable, Sendable {
    /// The value's place in the order of its topic: a value with a smaller one comes before it. 0:
    /// it has none yet, and the node that it is sent to gives it one and passes it on to all.
    package var place: UInt64
    package var topic: String
    /// The value, as its client has sent it: JSON, which nobody has checked.
    package var body: [UInt8]

    package init(place: UInt64, topic: String, body: [UInt8]) {
        self.place = place
        self.topic = topic
        self.body = body
    }

    package init(_ frame: LinkFrame) throws(LinkFault) {
        var payload = try LinkPayload(frame, is: .publish)
        place = try payload.number()
        topic = try payload.text()
        body = payload.rest()
    }

    package func append(stream: UInt32, to out: inout [UInt8]) {
        LinkFrame.append(.publish, stream: stream, to: &out) { payload in
            payload.append(place)
            payload.append(topic)
            payload.append(rest: body)
        }
    }
}

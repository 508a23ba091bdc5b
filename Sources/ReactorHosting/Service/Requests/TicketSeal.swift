internal import Wire

/// Makes tickets and opens them. A ticket is the client's token itself, encrypted and authenticated
/// with a secret that all nodes have, together with the digest of its stream. No node stores
/// tickets (ADR-0062).
///
/// ```
/// ticket     = base64url(nonce ciphertext tag)
/// nonce      16 random bytes
/// plaintext  = flag digest token    flag 1: valid with one query, 0: with any; 16 bytes of digest
/// ciphertext = plaintext XOR HMAC(key 1, nonce 0) HMAC(key 1, nonce 1) …    32-bit big-endian
/// tag        = the first 16 bytes of HMAC(key 2, nonce ciphertext)          (RFC 2104 §5)
/// ```
///
/// A cipher in counter mode, authenticated after encryption, each with its own derived key. Why
/// from HMAC: a host without tokens compiles no cryptography (ADR-0027) but SHA-256 for the links.
struct TicketSeal: Sendable {
    private struct Keys {
        let encryption: [UInt8]
        let authentication: [UInt8]

        init(_ secret: [UInt8]) {
            encryption = MessageCode.make(Array("reactor ticket encryption".utf8), secret: secret)
            authentication = MessageCode.make(
                Array("reactor ticket authentication".utf8), secret: secret)
        }
    }

    /// Tickets are sealed with the first and opened with any. Invariant: not empty.
    private let keys: [Keys]

    private static let nonceBytes = 16
    private static let tagBytes = 16
    private static let digestBytes = 16

    /// - Parameter secrets: Those of the cluster. If empty, a random one is drawn, and tickets end
    ///   with the process.
    init(secrets: [[UInt8]]) {
        keys = (secrets.isEmpty ? [Self.random(SHA256.byteCount)] : secrets).map(Keys.init)
    }

    func seal(_ token: ArraySlice<UInt8>, for stream: TicketStream) -> String {
        let plain = [stream.query == nil ? 0 : 1] + stream.digest + token
        let nonce = Self.random(Self.nonceBytes)
        let sealed = nonce + Self.combined(plain[...], keys[0], nonce)
        return Base64URL.encode(sealed + Self.tag(sealed, keys[0]))
    }

    /// The token in a ticket. Throws 401 for a ticket that was made with another secret, or for
    /// another stream.
    func open(
        _ text: ArraySlice<UInt8>, for stream: TicketStream
    ) throws(Problem) -> ArraySlice<UInt8> {
        let overhead = Self.nonceBytes + 1 + Self.digestBytes + Self.tagBytes
        guard let ticket = Base64URL.decode(text), ticket.count > overhead else {
            throw .ticketUnknown
        }
        let sealed = Array(ticket.dropLast(Self.tagBytes))
        let tag = Array(ticket.suffix(Self.tagBytes))
        guard let keys = keys.first(where: { MessageCode.areEqual(Self.tag(sealed, $0), tag) })
        else { throw .ticketUnknown }
        let nonce = Array(sealed.prefix(Self.nonceBytes))
        let plain = Self.combined(sealed.dropFirst(Self.nonceBytes), keys, nonce)
        let wanted = TicketStream(
            route: stream.route, session: stream.session,
            query: plain[0] == 0 ? nil : stream.query ?? [])
        guard plain[1...].starts(with: wanted.digest) else { throw .ticketElsewhere }
        return plain.dropFirst(1 + Self.digestBytes)
    }

    private static func tag(_ sealed: [UInt8], _ keys: Keys) -> [UInt8] {
        Array(MessageCode.make(sealed, secret: keys.authentication).prefix(tagBytes))
    }

    /// The text and the keystream, combined: encrypts, and decrypts what is encrypted.
    private static func combined(
        _ text: ArraySlice<UInt8>, _ keys: Keys, _ nonce: [UInt8]
    ) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(text.count)
        var (rest, counter) = (text, 0 as UInt32)
        while !rest.isEmpty {
            let number = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: counter >> $0) }
            let stream = MessageCode.make(nonce + number, secret: keys.encryption)
            result += zip(rest, stream).map { $0 ^ $1 }
            rest = rest.dropFirst(stream.count)
            counter += 1
        }
        return result
    }

    private static func random(_ count: Int) -> [UInt8] {
        var randomness = SystemRandomNumberGenerator()
        return (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &randomness) }
    }
}

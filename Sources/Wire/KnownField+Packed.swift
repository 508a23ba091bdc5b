/// Finds a known field by the bytes of its name.
///
/// Design: a name is at most four words of eight lower-case bytes, first byte lowest, padded with
/// zeros; so one comparison covers eight letters, without hashing or allocation. The numbers below
/// are the names; a test packs every `KnownField.name` again and compares.
extension KnownField {
    /// A lower-cased name of up to 32 bytes, packed.
    struct PackedName: Equatable {
        var first: UInt64
        var second: UInt64 = 0
        var third: UInt64 = 0
        var fourth: UInt64 = 0
    }

    static let longestName = 32

    /// Finds the field; returns nil if the name is not known.
    ///
    /// - Parameter length: The name's length in bytes, 1 or more.
    static func named(_ name: PackedName, length: Int) -> KnownField? {
        guard let candidate = candidate(first: name.first, length: length),
            candidate.packedName == name
        else { return nil }
        return candidate
    }

    /// The only field with this length and these first eight bytes.
    private static func candidate(first: UInt64, length: Int) -> KnownField? {
        switch (length, first) {
        case (2, 0x0000_0000_0000_6574): .te
        case (4, 0x0000_0000_7473_6f68): .host
        case (4, 0x0000_0000_6574_6164): .date
        case (4, 0x0000_0000_6761_7465): .etag
        case (5, 0x0000_0077_6f6c_6c61): .allow
        case (6, 0x0000_7470_6563_6361): .accept
        case (6, 0x0000_7463_6570_7865): .expect
        case (6, 0x0000_6e69_6769_726f): .origin
        case (6, 0x0000_6569_6b6f_6f63): .cookie
        case (6, 0x0000_7265_6665_7270): .prefer
        case (7, 0x0065_6461_7267_7075): .upgrade
        case (7, 0x0072_656c_6961_7274): .trailer
        case (8, 0x6863_7461_6d2d_6669): .ifMatch
        case (8, 0x6e6f_6974_6163_6f6c): .location
        case (10, 0x6974_6365_6e6e_6f63): .connection
        case (10, 0x6174_7365_6361_7274): .tracestate
        case (10, 0x6567_612d_7265_7375): .userAgent
        case (11, 0x7261_7065_6361_7274): .traceparent
        case (11, 0x6661_2d79_7274_6572): .retryAfter
        case (12, 0x2d74_6e65_746e_6f63): .contentType
        case (12, 0x7365_7571_6572_2d78): .xRequestID
        case (13, 0x6576_652d_7473_616c): .lastEventID
        case (13, 0x2d65_6e6f_6e2d_6669): .ifNoneMatch
        case (13, 0x7a69_726f_6874_7561): .authorization
        case (13, 0x6f63_2d65_6863_6163): .cacheControl
        case (14, 0x2d74_6e65_746e_6f63): .contentLength
        case (15, 0x6574_6f70_6d65_6469): .idempotencyKey
        case (15, 0x652d_7470_6563_6361): .acceptEncoding
        case (15, 0x6c2d_7470_6563_6361): .acceptLanguage
        case (15, 0x7261_7772_6f66_2d78): .xForwardedFor
        case (16, 0x2d74_6e65_746e_6f63): .contentEncoding
        case (17, 0x7265_6673_6e61_7274): .transferEncoding
        case (17, 0x7261_7772_6f66_2d78): .xForwardedProto
        case (20, 0x6574_6f70_6d65_6469): .idempotencyKeyDone
        case (29, 0x632d_7373_6563_6361): .accessControlRequestMethod
        case (30, 0x632d_7373_6563_6361): .accessControlRequestHeaders
        default: nil
        }
    }

    /// The name's four words.
    var packedName: PackedName {
        switch self {
        case .host: PackedName(first: 0x0000_0000_7473_6f68)
        case .accept: PackedName(first: 0x0000_7470_6563_6361)
        case .contentType: PackedName(first: 0x2d74_6e65_746e_6f63, second: 0x0000_0000_6570_7974)
        case .contentLength:
            PackedName(
                first: 0x2d74_6e65_746e_6f63, second: 0x0000_6874_676e_656c)
        case .transferEncoding:
            PackedName(
                first: 0x7265_6673_6e61_7274, second: 0x6e69_646f_636e_652d,
                third: 0x0000_0000_0000_0067)
        case .connection: PackedName(first: 0x6974_6365_6e6e_6f63, second: 0x0000_0000_0000_6e6f)
        case .expect: PackedName(first: 0x0000_7463_6570_7865)
        case .lastEventID: PackedName(first: 0x6576_652d_7473_616c, second: 0x0000_0064_692d_746e)
        case .ifMatch: PackedName(first: 0x6863_7461_6d2d_6669)
        case .ifNoneMatch: PackedName(first: 0x2d65_6e6f_6e2d_6669, second: 0x0000_0068_6374_616d)
        case .idempotencyKey:
            PackedName(
                first: 0x6574_6f70_6d65_6469, second: 0x0079_656b_2d79_636e)
        case .idempotencyKeyDone:
            PackedName(
                first: 0x6574_6f70_6d65_6469, second: 0x2d79_656b_2d79_636e,
                third: 0x0000_0000_656e_6f64)
        case .authorization:
            PackedName(
                first: 0x7a69_726f_6874_7561, second: 0x0000_006e_6f69_7461)
        case .traceparent: PackedName(first: 0x7261_7065_6361_7274, second: 0x0000_0000_0074_6e65)
        case .tracestate: PackedName(first: 0x6174_7365_6361_7274, second: 0x0000_0000_0000_6574)
        case .origin: PackedName(first: 0x0000_6e69_6769_726f)
        case .userAgent: PackedName(first: 0x6567_612d_7265_7375, second: 0x0000_0000_0000_746e)
        case .acceptEncoding:
            PackedName(
                first: 0x652d_7470_6563_6361, second: 0x0067_6e69_646f_636e)
        case .acceptLanguage:
            PackedName(
                first: 0x6c2d_7470_6563_6361, second: 0x0065_6761_7567_6e61)
        case .cookie: PackedName(first: 0x0000_6569_6b6f_6f63)
        case .xForwardedFor:
            PackedName(
                first: 0x7261_7772_6f66_2d78, second: 0x0072_6f66_2d64_6564)
        case .xForwardedProto:
            PackedName(
                first: 0x7261_7772_6f66_2d78, second: 0x746f_7270_2d64_6564,
                third: 0x0000_0000_0000_006f)
        case .xRequestID: PackedName(first: 0x7365_7571_6572_2d78, second: 0x0000_0000_6469_2d74)
        case .contentEncoding:
            PackedName(
                first: 0x2d74_6e65_746e_6f63, second: 0x676e_6964_6f63_6e65)
        case .cacheControl: PackedName(first: 0x6f63_2d65_6863_6163, second: 0x0000_006c_6f72_746e)
        case .te: PackedName(first: 0x0000_0000_0000_6574)
        case .upgrade: PackedName(first: 0x0065_6461_7267_7075)
        case .trailer: PackedName(first: 0x0072_656c_6961_7274)
        case .prefer: PackedName(first: 0x0000_7265_6665_7270)
        case .date: PackedName(first: 0x0000_0000_6574_6164)
        case .location: PackedName(first: 0x6e6f_6974_6163_6f6c)
        case .etag: PackedName(first: 0x0000_0000_6761_7465)
        case .allow: PackedName(first: 0x0000_0077_6f6c_6c61)
        case .retryAfter: PackedName(first: 0x6661_2d79_7274_6572, second: 0x0000_0000_0072_6574)
        case .accessControlRequestMethod:
            PackedName(
                first: 0x632d_7373_6563_6361, second: 0x722d_6c6f_7274_6e6f,
                third: 0x6d2d_7473_6575_7165, fourth: 0x0000_0064_6f68_7465)
        case .accessControlRequestHeaders:
            PackedName(
                first: 0x632d_7373_6563_6361, second: 0x722d_6c6f_7274_6e6f,
                third: 0x682d_7473_6575_7165, fourth: 0x0000_7372_6564_6165)
        }
    }
}

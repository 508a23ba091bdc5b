// swift-format-ignore-file: AlwaysUseLowerCamelCase
// Stands in for libpq in a build without the package's trait `PostgreSQL`.
//
// Design: `PostgresAddress` refuses every address in such a build, so none of these functions is
// called. Thanks to them, the rest of the module needs no conditions.

#if !(PostgreSQL || Complete)
    let CONNECTION_OK = 0
    let PGRES_COMMAND_OK = 1
    let PGRES_TUPLES_OK = 2

    @unsafe
    struct PQconninfoOption {
        var keyword: UnsafeMutablePointer<CChar>?
        var val: UnsafeMutablePointer<CChar>?
    }

    typealias Text = UnsafePointer<CChar>
    typealias Texts = UnsafePointer<UnsafePointer<CChar>?>

    func PQconnectdbParams(_: Texts, _: Texts, _: Int32) -> OpaquePointer? { nil }
    func PQconnectStartParams(_: Texts, _: Texts, _: Int32) -> OpaquePointer? { nil }
    func PQstatus(_: OpaquePointer) -> Int { 1 }
    func PQsetnonblocking(_: OpaquePointer, _: Int32) -> Int32 { -1 }
    func PQerrorMessage(_: OpaquePointer) -> UnsafeMutablePointer<CChar>! { nil }
    func PQsetNoticeReceiver(
        _: OpaquePointer, _: (UnsafeMutableRawPointer?, OpaquePointer?) -> Void,
        _: UnsafeMutableRawPointer
    ) {}
    func PQfinish(_: OpaquePointer) {}
    func PQconninfo(_: OpaquePointer) -> UnsafeMutablePointer<PQconninfoOption>? { nil }
    func PQconninfoParse(
        _: Text, _: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>
    ) -> UnsafeMutablePointer<PQconninfoOption>? { nil }
    func PQconninfoFree(_: UnsafeMutablePointer<PQconninfoOption>) {}
    func PQfreemem(_: UnsafeMutableRawPointer) {}
    func PQbackendPID(_: OpaquePointer) -> Int32 { 0 }
    func PQsocket(_: OpaquePointer) -> Int32 { -1 }

    func PQsendQuery(_: OpaquePointer, _: Text) -> Int32 { 0 }
    func PQsendQueryParams(
        _: OpaquePointer, _: Text, _: Int32, _: UnsafePointer<UInt32>?, _: Texts?,
        _: UnsafePointer<Int32>?, _: UnsafePointer<Int32>?, _: Int32
    ) -> Int32 { 0 }
    func PQsendPrepare(
        _: OpaquePointer, _: Text, _: Text, _: Int32, _: UnsafePointer<UInt32>?
    ) -> Int32 { 0 }
    func PQsendQueryPrepared(
        _: OpaquePointer, _: Text, _: Int32, _: Texts?, _: UnsafePointer<Int32>?,
        _: UnsafePointer<Int32>?, _: Int32
    ) -> Int32 { 0 }
    func PQflush(_: OpaquePointer) -> Int32 { -1 }
    func PQisBusy(_: OpaquePointer) -> Int32 { 0 }
    func PQconsumeInput(_: OpaquePointer) -> Int32 { 0 }

    func PQgetResult(_: OpaquePointer) -> OpaquePointer? { nil }
    func PQclear(_: OpaquePointer) {}
    func PQresultStatus(_: OpaquePointer) -> Int { 0 }
    func PQresultErrorField(_: OpaquePointer?, _: Int32) -> UnsafeMutablePointer<CChar>? { nil }
    func PQntuples(_: OpaquePointer) -> Int32 { 0 }
    func PQcmdTuples(_: OpaquePointer) -> UnsafeMutablePointer<CChar>! { nil }
    func PQgetisnull(_: OpaquePointer, _: Int32, _: Int32) -> Int32 { 1 }
    func PQgetlength(_: OpaquePointer, _: Int32, _: Int32) -> Int32 { 0 }
    func PQgetvalue(_: OpaquePointer, _: Int32, _: Int32) -> UnsafeMutablePointer<CChar>? { nil }
#endif

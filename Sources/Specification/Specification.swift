/// The service's description of itself.
package enum Specification {
    /// openapi.yaml, as it stands at the top of the repository. It is built in, so that a server
    /// needs no file beside it; in a module of its own, because compiling it takes a while.
    package static var openapi: [UInt8] { PackageResources.openapi_yaml }
}

/// The service's description of itself.
package enum Specification {
    /// openapi.yaml, as it is at the top of the repository. It is embedded, so that a server needs
    /// no file beside it; in a separate module, because compiling it takes a while.
    package static var openapi: [UInt8] { PackageResources.openapi_yaml }
}

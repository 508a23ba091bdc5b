/// Identifies one subscriber, or one logger, of a storage.
///
/// A token of another storage, or of a removed subscriber or logger, identifies nothing.
public struct StorageToken: Hashable, Sendable {
    // Invariant: unique in its storage, never reused.
    let number: UInt64
    // Without it, a token of one storage could remove a subscriber of another.
    let owner: ObjectIdentifier
}

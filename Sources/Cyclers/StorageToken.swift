/// Names one subscriber, or one logger, of a storage.
///
/// A token of another storage names nobody, and is as harmless as one that was removed.
public struct StorageToken: Hashable, Sendable {
    // Invariant: unique in its storage, never used twice.
    let number: UInt64
    // Whose it is; without it a token of one storage would remove a subscriber of another.
    let owner: ObjectIdentifier
}

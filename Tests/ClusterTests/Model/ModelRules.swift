/// The rules by which nodes write to one database, as the model has them. Each can be switched off.
struct ModelRules: OptionSet {
    let rawValue: Int

    /// An append names the owner and the epoch.
    static let fences = ModelRules(rawValue: 1)
    /// An append is let in only where the history ends: the row that would collide may be trimmed.
    static let comparesPlaces = ModelRules(rawValue: 2)
    /// A row is recognised by its batch, never by its position.
    static let recognisesItsOwn = ModelRules(rawValue: 4)
    /// A statement without an answer is sent again without the fence.
    static let resubmitsWithoutFence = ModelRules(rawValue: 8)
    /// A statement without an answer is sent again at all, until it is decided.
    static let resubmits = ModelRules(rawValue: 16)
    /// A read looks at the database.
    static let confirms = ModelRules(rawValue: 32)
    /// An append names the era.
    static let namesEra = ModelRules(rawValue: 64)
    /// A session that is claimed in another era has another generation.
    static let drawsGeneration = ModelRules(rawValue: 128)
    /// A claim and the load after it are of one era.
    static let loadsInEraOfClaim = ModelRules(rawValue: 256)
    /// The key of a row is the position that it continues, not the one where it ends.
    static let keysByStart = ModelRules(rawValue: 512)
    /// Where a row may have been trimmed, nobody says that it never was there.
    static let heedsTrimming = ModelRules(rawValue: 1024)

    static let all = ModelRules(rawValue: 2047)
}

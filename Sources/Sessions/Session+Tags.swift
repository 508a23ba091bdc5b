internal import Cyclers
package import Feeds
package import Reactors
package import Storage

// The tags of a session (ADR-0088).
extension Session {
    /// Adds the tags of the present state to a step that is about to be submitted, if they differ
    /// from those of the last one.
    ///
    /// Why not with each mutation: once for a commit suffices, and a reactor without tags pays only
    /// one comparison.
    func updateTags(in step: Step) {
        guard registration.hasTags, case .awake(let machine) = life else { return }
        beginWork(.reading)
        let (present, fault) = SessionTags.kept(of: machine.tags)
        endWork()
        guard present != tags?.all else { return }
        if let fault { report(.failed(place: "tags(of:)", error: fault)) }
        step.tagsBefore = .some(tags)
        let changed = SessionTags(present, changed: table.time)
        tags = changed
        guard keepsRecords else { return }
        step.batch.tags.append(TagChange(of: key, registration.name, changed))
    }

    package var presentTags: SessionTags? {
        machine.map { SessionTags(SessionTags.kept(of: $0.tags).kept) }
    }

    /// Restores the tags as they were before the oldest of these steps.
    func restoreTags(before rolledBack: [Step]) {
        guard let before = rolledBack.first(where: { $0.tagsBefore != nil })?.tagsBefore else {
            return
        }
        tags = before
        table.services.tagChanges.count()
    }
}

extension SessionTags {
    /// The valid ones of these tags, and why another one was left out.
    package static func kept(of tags: Tags) -> (kept: [SessionTag], fault: String?) {
        var (kept, fault): ([SessionTag], String?) = ([], nil)
        let all = tags.all.sorted {
            $0.key.utf8.lexicographicallyPrecedes($1.key.utf8)
        }
        for (name, value) in all {
            let tag = SessionTag(name, value)
            if let reason = tag.fault {
                fault = fault ?? "the tag \(name.debugDescription) is left out: \(reason)"
            } else if kept.count == countLimit {
                fault = fault ?? "the tag \(name) is left out: a session has at most \(countLimit)"
            } else {
                kept.append(tag)
            }
        }
        return (kept, fault)
    }
}

extension Registration {
    /// The tags of a session that is not in memory; nil if its reactor declares none.
    ///
    /// - Throws: what a load of the session would throw.
    package func tags(of saved: SavedSession) throws(RecoveryFault) -> [SessionTag]? {
        guard hasTags else { return nil }
        return (try fold(of: saved) as? any TaggedFold).map { SessionTags.kept(of: $0.tags).kept }
    }
}

/// A rebuilt state, and its tags.
protocol TaggedFold {
    var tags: Tags { get }
}

extension ReactorFold: TaggedFold {
    var tags: Tags { R.tags(of: state) }
}

extension CyclerFold: TaggedFold {
    var tags: Tags { C.tags(of: state) }
}

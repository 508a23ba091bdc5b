import Storage

@testable import Feeds
@testable import Sessions

// Lists by tags include every acknowledged change.
extension WholeLife {
    func listByTags() {
        let token = rig.nextToken()
        requests[token] = Request(operation: .listSessions, id: "")
        let value = "\(Int.random(in: 0..<4, using: &generator))"
        let selection = TagSelection(
            [SessionTag("a", value)], reactor: "ledger",
            limit: Int.random(in: 1...4, using: &generator))
        let isAsked = rig.table.taggedPage(selection) { [unowned self] in
            guard !gone.contains(token) else { return }
            guard case .success(let page) = $0 else { return said[token] = .unreadable }
            checkPage(page, selection)
            said[token] = .list(page.heads.map(\.key.session))
        }
        checkTags()
        guard !isAsked else { return }
        let found = rig.table.taggedPage(selection, loop: 0)
        for (earlier, later) in zip(found, found.dropFirst()) where earlier.place <= later.place {
            blame("\(earlier.session.id) before \(later.session.id)")
        }
        for one in found where one.session.tags?.contain(selection.tags) != true {
            blame("\(one.session.id) without the tag")
        }
        said[token] = .list(found.map(\.session.id.text))
    }

    private func checkPage(_ page: TaggedPage, _ selection: TagSelection) {
        if page.heads.count > selection.limit { blame("\(page.heads.count) sessions in a page") }
        for head in page.heads where head.tags?.contain(selection.tags) != true {
            blame("\(head.key.session) without the tag")
        }
        let changed = page.heads.map { $0.tags?.changed ?? 0 }
        if changed != changed.sorted(by: >) { blame("the page is in the order \(changed)") }
    }

    /// The journal's tags of each session are those of its committed state.
    func checkTags() {
        guard scope.hasArchive else { return }
        for id in ids where !foreign.contains(id) {
            guard let saved = rig.journal.loaded(id), !saved.isDeleted,
                let registration = rig.table.registration(saved.reactor), registration.hasTags,
                // A corrupted session cannot be rebuilt.
                let tags = try? registration.tags(of: saved)
            else { continue }
            checkedTags += 1
            if tags != saved.tags?.all {
                blame("the tags of \(id) are \(String(describing: saved.tags?.all)), not \(tags)")
            }
        }
    }
}

/** The trash of back ends on a network: deleted entries leave their folder in one step, come back, and are deleted for good. */
import t from 'tap'
import { type BackEnd, ftp, googleDrive, sftp } from '../hostile/back-ends.ts'
import { dropbox, onedrive } from '../hostile/cloud-back-ends.ts'
import { startApp } from '../support/app.ts'
import { extent } from '../support/extent.ts'
import { until } from '../support/until.ts'

// A server may need to be installed first.
t.setTimeout(300_000)

const remove = 'mutation ($input: DeleteInput!) { delete(input: $input) { trashItem { id } } }'
const restore = 'mutation ($input: RestoreInput!) { restore(input: $input) { path } }'
const empty = 'mutation ($id: ID!) { emptyTrash(providerId: $id) }'
const trash = 'query ($id: ID!) { trash(providerId: $id) { nodes { originalPath } } }'
const state = `query ($id: ID!) { provider(id: $id) { trash { days isOneStep isNative } }
  folder(providerId: $id, path: "/") { entries { nodes { name } } } jobs { nodes { id } } }`

const all = [googleDrive, sftp, ftp, dropbox, onedrive]
const backEnds = await Promise.all(extent({ gate: all.slice(0, 1), nightly: all }).map(start => start(t)))
const app = await startApp(t, {
  settings: { trashDays: 30 },
  adapters: folder => backEnds.flatMap(({ adapters }) => adapters(folder)),
})
const { token } = await app.register('owner@example.org')

/** The entries in the reserved folder at the back end, but not those below them. */
async function kept({ spelled, all }: BackEnd): Promise<number> {
  const folder = spelled('/.stowage-trash')
  const items = await all()
  return items.filter(({ at }) => at.length === folder.length + 1 && folder.every((name, i) => name === at[i])).length
}

for (const backEnd of backEnds) {
  t.test(backEnd.type, async t => {
    const isNative = backEnd.type === 'google-drive'
    const id = await app.connectProvider(token, backEnd.type, await backEnd.config(app.folder), backEnd.type)
    const put = async (path: string) => t.equal((await app.upload(token, id, path, path)).status, 201, path)
    const textAt = async (path: string) => (await app.download(token, id, path)).text()
    const deleted = async (path: string) =>
      (await app.ask(remove, { input: { providerId: id, path, recursive: true } }, token)).delete.trashItem.id
    const namesAtRoot = async () =>
      (await app.ask(state, { id }, token)).folder.entries.nodes.map(({ name }: { name: string }) => name).toSorted()

    for (const path of ['/a.txt', '/tree/b.txt', '/tree/sub/c.txt']) await put(path)
    const items = [await deleted('/a.txt'), await deleted('/tree')]
    const { provider, folder, jobs } = await app.ask(state, { id }, token)
    t.same(provider.trash, { days: 30, isOneStep: true, isNative })
    t.same([folder.entries.nodes, jobs.nodes], [[], []], 'nothing is listed, and no job has copied anything')
    if (!isNative) t.equal(await kept(backEnd), 2)

    await put('/a.txt')
    for (const item of items) await app.ask(restore, { input: { id: item, conflict: 'RENAME' } }, token)
    t.same(await namesAtRoot(), ['a (1).txt', 'a.txt', 'tree'])
    t.same([await textAt('/a (1).txt'), await textAt('/tree/sub/c.txt')], ['/a.txt', '/tree/sub/c.txt'])

    for (const path of ['/a.txt', '/tree']) await deleted(path)
    await app.ask(empty, { id }, token)
    t.same((await app.ask(trash, { id }, token)).trash.nodes, [])
    // An entry can vanish while the others are listed.
    if (!isNative) await until(() => kept(backEnd).then(count => count === 0, String))
    t.same(await namesAtRoot(), ['a (1).txt'])
  })
}

t.test('no call was logged as a fault', async t => t.notMatch(app.logged(), /"level":[56]0/))

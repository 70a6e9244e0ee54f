import t from 'tap'
import { listAll, put } from '../../adapters/conformance/kit.ts'
import { isName } from '../../src/auth/path.ts'
import { base } from '../matrix/world.ts'
import { extent } from '../support/extent.ts'
import { attackBackEnd } from './attack-back-end.ts'
import { checkArchive, leavesTheRest } from './cases.ts'
import { namesOthersGive } from './corpus.ts'
import { type EncryptedBackEnd, encryptedMemory } from './encrypted.ts'
import { download, graphql, upload } from './requests.ts'

/** Names that rclone could encrypt, and that are no names here. */
const noNames = ['..', '.', '../seed.txt', 'a/b', '/etc/passwd', 'nul\0']
const listing = `query ($id: ID!, $path: String!) {
  folder(providerId: $id, path: $path) { entries(first: 100) { nodes { name } } } }`

attackBackEnd(t, 'an encrypted storage', encryptedMemory, {
  // Paths are decided before a storage encrypts them.
  every: extent({ gate: null, nightly: 3 }),
  // Encrypted, longer names do not fit into a name of the memory.
  names: [...namesOthersGive, ...noNames].filter(name => Buffer.byteLength(name) <= 143),
  shown: name => (isName(name) ? name : undefined),
  more: async (t, on) => {
    await t.test('what is stored without encryption is neither listed nor read', async t => {
      const { stored, names, foreign: leftOut } = on.backEnd as EncryptedBackEnd
      const folder = `${base}/foreign`
      const at = on.backEnd.spelled(folder)
      await on.backEnd.make([...at, 'mine'], 'mine')
      const inside = at.map(name => names.storedName(name, 'directory')).join('/')
      const mine = names.storedName('mine', 'file')
      // In capitals, it would be the same name where cases do not count.
      const foreign = [
        'readme.txt',
        mine.toUpperCase(),
        `${mine}=`,
        `${mine}0`,
        mine.slice(1),
        'v'.repeat(26),
        '.',
        '..',
      ]
      const kept = foreign.filter(isName)
      for (const name of kept) leftOut.add(`${inside}/${name}`)
      for (const name of kept) await put(stored, `${inside}/${name}`, 'clear text', true)
      const list = async () =>
        JSON.parse((await graphql(on, listing, { id: on.providerId, path: folder })).text).data.folder.entries.nodes
      t.same(await list(), [{ name: 'mine' }])
      for (const name of [...kept, mine]) {
        t.equal((await download(on, `${folder}/${name}`)).status, 404, name)
      }
      t.equal((await download(on, `/${inside}/${mine}`)).status, 403, 'stored paths are no paths')
      t.equal(await checkArchive(on, folder), 1)
      t.equal((await upload(on, `${folder}/readme.txt`, 'encrypted')).status, 201, 'a clear text takes no name')
      t.same((await listAll(stored, inside)).length, kept.length + 2)
      await leavesTheRest(t, on, async () => {})
    })
  },
})

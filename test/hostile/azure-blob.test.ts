import t from 'tap'
import { isName } from '../../adapters/azure-blob/keys.ts'
import { azureBlob } from './back-ends.ts'
import { existingNamesAreData, namesAreKept } from './cases.ts'
import { namesOthersGive } from './corpus.ts'
import { attack } from './requests.ts'

t.setTimeout(900_000)

t.test('Azure Blob Storage', async t => {
  const on = await attack(t, await azureBlob(t))
  await t.test('stored files keep hostile names', t => namesAreKept(t, on))
  await t.test('hostile names from other clients are listed and readable', async t => {
    // Azure has no other names.
    const names = namesOthersGive.filter(isName)
    const listed = await existingNamesAreData(t, on, [
      ...names.map(name => [name]),
      ['', 'x'],
      ['a', '', 'x'],
      ['a', 'b'],
    ])
    t.same(listed.toSorted(), ['a', ...names].toSorted(), 'names that are not valid paths are not listed')
  })
  t.comment(`Azure Blob Storage: ${on.count} hostile requests in all`)
})

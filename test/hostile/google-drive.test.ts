import t from 'tap'
import { toShown } from '../../adapters/google-drive/names.ts'
import { googleDrive } from './back-ends.ts'
import { existingNamesAreData, namesAreKept, pathsStayInside } from './cases.ts'
import { namesOthersGive } from './corpus.ts'
import { attack } from './requests.ts'

t.setTimeout(900_000)

t.test('Google Drive', async t => {
  const on = await attack(t, await googleDrive(t))
  await t.test('hostile paths stay inside the base path', t => pathsStayInside(t, on, 2))
  await t.test('stored files keep hostile names', t => namesAreKept(t, on))
  await t.test('hostile names from other clients are listed and readable', async t => {
    const given = [...namesOthersGive, '..', '.', '../../canary-documents/seed.txt', '/', 'a/b', 'nul\0']
    const listed = await existingNamesAreData(
      t,
      on,
      given.map(name => [name]),
    )
    t.same(listed.toSorted(), given.map(toShown).toSorted())
  })
  t.comment(`Google Drive: ${on.count} hostile requests in all`)
})

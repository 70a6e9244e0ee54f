import t from 'tap'
import { toShown } from '../../adapters/google-drive/names.ts'
import { googleDrive } from './back-ends.ts'
import { namesAreKept, pathsStayInside, whatIsThereIsData } from './cases.ts'
import { namesOthersGive } from './corpus.ts'
import { attack } from './requests.ts'

t.setTimeout(900_000)

t.test('Google Drive', async t => {
  const on = await attack(t, await googleDrive(t))
  await t.test('paths', t => pathsStayInside(t, on))
  await t.test('names', t => namesAreKept(t, on))
  await t.test('names that others gave', async t => {
    const given = [...namesOthersGive, '..', '.', '../../canary-documents/seed.txt', '/', 'a/b', 'nul\0']
    const listed = await whatIsThereIsData(
      t,
      on,
      given.map(name => [name]),
    )
    t.same(listed.toSorted(), given.map(toShown).toSorted())
  })
  t.comment(`Google Drive: ${on.count} hostile requests in all`)
})

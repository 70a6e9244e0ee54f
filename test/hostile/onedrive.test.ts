import t from 'tap'
import { isUnstorable } from '../../adapters/onedrive/names.ts'
import { distinct, existingNamesAreData, namesAreKept, pathsStayInside } from './cases.ts'
import { onedrive } from './cloud-back-ends.ts'
import { namesOthersGive } from './corpus.ts'
import { attack } from './requests.ts'

t.setTimeout(900_000)

t.test('OneDrive', async t => {
  const on = await attack(t, await onedrive(t))
  await t.test('hostile paths stay inside the base path', t => pathsStayInside(t, on, 4))
  await t.test('stored files keep hostile names', t => namesAreKept(t, on))
  await t.test('hostile names from other clients are listed and readable', async t => {
    const given = distinct(
      on,
      namesOthersGive.filter(name => !isUnstorable(name)),
    )
    const listed = await existingNamesAreData(
      t,
      on,
      given.map(name => [name]),
    )
    t.same(listed.toSorted(), given.toSorted())
  })
  t.comment(`OneDrive: ${on.count} hostile requests in all`)
})

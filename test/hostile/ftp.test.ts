import t from 'tap'
import { ftp } from './back-ends.ts'
import { existingNamesAreData, namesAreKept, pathsStayInside } from './cases.ts'
import { namesOthersGive } from './corpus.ts'
import { attack } from './requests.ts'

t.setTimeout(900_000)

t.test('FTP', async t => {
  const on = await attack(t, await ftp(t))
  await t.test('hostile paths stay inside the base path', t => pathsStayInside(t, on, 4))
  await t.test('stored files keep hostile names', t => namesAreKept(t, on))
  await t.test('hostile names from other clients are listed and readable', async t => {
    // A listing has one name in each line.
    const given = namesOthersGive.filter(name => !/[\r\n]/.test(name))
    const listed = await existingNamesAreData(
      t,
      on,
      given.map(name => [name]),
    )
    t.same(listed.toSorted(), given.toSorted())
  })
  t.comment(`FTP: ${on.count} hostile requests in all`)
})

import t from 'tap'
import { sftp } from './back-ends.ts'
import { existingNamesAreData, namesAreKept, pathsStayInside } from './cases.ts'
import { namesOthersGive } from './corpus.ts'
import { attack } from './requests.ts'

t.setTimeout(900_000)

t.test('SFTP', async t => {
  const on = await attack(t, await sftp(t))
  await t.test('hostile paths stay inside the base path', t => pathsStayInside(t, on, 4))
  await t.test('stored files keep hostile names', t => namesAreKept(t, on))
  await t.test('hostile names from other clients are listed and readable', async t => {
    const listed = await existingNamesAreData(
      t,
      on,
      namesOthersGive.map(name => [name]),
    )
    t.same(listed.toSorted(), namesOthersGive.toSorted())
  })
  t.comment(`SFTP: ${on.count} hostile requests in all`)
})

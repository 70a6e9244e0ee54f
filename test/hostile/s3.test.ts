import t from 'tap'
import { s3 } from './back-ends.ts'
import { existingNamesAreData, namesAreKept, pathsStayInside } from './cases.ts'
import { namesOthersGive } from './corpus.ts'
import { attack } from './requests.ts'

t.setTimeout(900_000)

t.test('S3', async t => {
  const on = await attack(t, await s3(t))
  await t.test('hostile paths stay inside the base path', t => pathsStayInside(t, on, 2))
  await t.test('stored files keep hostile names', t => namesAreKept(t, on))
  await t.test('hostile names from other clients are listed and readable', async t => {
    const given = namesOthersGive.map(name => [name])
    const noPath = [['..', '..', 'canary'], ['..'], ['.', 'x'], ['', 'x'], ['a', '', 'x'], ['a', '..', 'x'], ['a', 'b']]
    const listed = await existingNamesAreData(t, on, [...given, ...noPath])
    t.same(listed.toSorted(), ['a', ...namesOthersGive].toSorted(), 'keys that are not valid paths are not listed')
  })
  t.comment(`S3: ${on.count} hostile requests in all`)
})

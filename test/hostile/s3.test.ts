import t from 'tap'
import { s3 } from './back-ends.ts'
import { namesAreKept, pathsStayInside, whatIsThereIsData } from './cases.ts'
import { namesOthersGive } from './corpus.ts'
import { attack } from './requests.ts'

t.setTimeout(900_000)

t.test('S3', async t => {
  const on = await attack(t, await s3(t))
  await t.test('paths', t => pathsStayInside(t, on))
  await t.test('names', t => namesAreKept(t, on))
  await t.test('names that others gave', async t => {
    const given = namesOthersGive.map(name => [name])
    const noPath = [['..', '..', 'canary'], ['..'], ['.', 'x'], ['', 'x'], ['a', '', 'x'], ['a', '..', 'x'], ['a', 'b']]
    const listed = await whatIsThereIsData(t, on, [...given, ...noPath])
    t.same(listed.toSorted(), ['a', ...namesOthersGive].toSorted(), 'what no path can hold is left out')
  })
  t.comment(`S3: ${on.count} hostile requests in all`)
})

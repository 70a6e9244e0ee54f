import t from 'tap'
import { memory } from './back-ends.ts'
import { namesAreKept, pathsStayInside, whatIsThereIsData } from './cases.ts'
import { namesOthersGive } from './corpus.ts'
import { attack } from './requests.ts'

t.setTimeout(900_000)

t.test('memory', async t => {
  const on = await attack(t, await memory())
  await t.test('paths', t => pathsStayInside(t, on))
  await t.test('names', t => namesAreKept(t, on))
  await t.test('names that others gave', async t => {
    const listed = await whatIsThereIsData(
      t,
      on,
      namesOthersGive.map(name => [name]),
    )
    t.same(listed.toSorted(), namesOthersGive.toSorted())
  })
  t.comment(`memory: ${on.count} hostile requests in all`)
})

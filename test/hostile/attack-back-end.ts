import type { Test } from 'tap'
import { extent } from '../support/extent.ts'
import type { BackEnd } from './back-ends.ts'
import { distinct, existingNamesAreData, namesAreKept, pathsStayInside, type Sample } from './cases.ts'
import { namesOthersGive } from './corpus.ts'
import { type Attack, attack } from './requests.ts'

interface Options {
  /** Tries one of this many paths. Null tries none, for a back end that differs from another one only in its keys. */
  every?: number | null
  /** The names that other clients can give to files. */
  names?: readonly string[]
  /** Returns the name that Stowage lists for one of these, or undefined. */
  shown?: (name: string) => string | undefined
  /** Keys of other clients that are not valid paths. */
  invalidKeys?: readonly (readonly string[])[]
  /** Cases of this back end alone. */
  more?: (t: Test, on: Attack) => Promise<void>
}

/**
 * The back ends that share the values in `npm test`: each tries every 28th, and an encrypted storage, which is in the memory, every
 * 84th. The memory back end tries every 14th. The others are in `test/nightly/hostile/`.
 */
const sharing = ['local disk', 'a Windows share', 'an encrypted storage']

function sampleOf(title: string): Sample {
  const turn = sharing.indexOf(title)
  return (values, scale = 1) => {
    const [share, part] = turn < 0 ? [14, 0] : [title === 'an encrypted storage' ? 84 : 28, 9 * turn]
    const gate = values.filter((_, index) => index % (share * scale) === part * scale)
    return extent({ gate, nightly: [...values] })
  }
}

/** Tests a back end with hostile paths and names. */
export function attackBackEnd(
  t: Test,
  title: string,
  open: (t: Test) => BackEnd | Promise<BackEnd>,
  options: Options = {},
): void {
  const { every = 1, names = namesOthersGive, shown = name => name, invalidKeys, more } = options
  t.setTimeout(900_000)
  t.test(title, async t => {
    const on = await attack(t, await open(t))
    const sample = sampleOf(title)
    if (every !== null)
      await t.test('hostile paths stay inside the base path', t => pathsStayInside(t, on, sample, every))
    await t.test('stored files keep hostile names', t => namesAreKept(t, on, sample))
    await t.test('hostile names from other clients are listed and readable', async t => {
      const given = sample(distinct(on, names))
      const keys = invalidKeys ? [...invalidKeys, ['a', 'b']] : []
      const listed = await existingNamesAreData(t, on, [...given.map(name => [name]), ...keys])
      const expected = [...given.flatMap(name => shown(name) ?? []), ...(invalidKeys ? ['a'] : [])]
      t.same(listed.toSorted(), expected.toSorted(), 'exactly the names that are valid paths are listed')
    })
    await more?.(t, on)
    t.comment(`${title}: ${on.count} hostile requests in all`)
  })
}

/** Pages of lists of which a viewer sees only some rows. */
import t from 'tap'
import { timeOrderedIds } from '../../src/auth/id.ts'
import { encodeIdCursor, visiblePage } from '../../src/services/paging.ts'

const nextId = timeOrderedIds()

interface Row {
  id: string
  n: number
}

/** Returns rows, the newest first, a function that reads them as a database does, and its limits. */
function table(count: number) {
  const at = new Date()
  const rows: Row[] = Array.from({ length: count }, (_, n) => ({ id: nextId(at), n })).toReversed()
  /** The rows that each query may return. */
  const limits: number[] = []
  const read = async ({ limit, before }: { limit: number; before: string | null }) => {
    limits.push(limit)
    return rows.filter(({ id }) => before === null || id < before).slice(0, limit)
  }
  return { read, limits }
}

/** Reads all pages. */
async function pagesOf(count: number, limit: number, isVisible: (row: Row) => boolean) {
  const { read, limits } = table(count)
  const pages: number[][] = []
  let most = 0
  let after: string | null = null
  for (;;) {
    const before = limits.length
    const page: Awaited<ReturnType<typeof visiblePage<Row>>> = await visiblePage(read, isVisible, { limit, after })
    most = Math.max(most, limits.length - before)
    pages.push(page.rows.map(({ n }) => n))
    if (!page.hasNext) return { pages, most }
    after = page.endCursor
  }
}

t.test('every visible row is on exactly one page, in order', async t => {
  for (const [count, limit, every] of [
    [0, 10, 1],
    [10, 10, 1],
    [11, 10, 1],
    [101, 100, 1],
    [101, 101, 1],
    [250, 7, 3],
    [2500, 5, 250],
    [2500, 100, 2],
  ] as const) {
    const { pages, most } = await pagesOf(count, limit, ({ n }) => n % every === 0)
    const expected = Array.from({ length: count }, (_, n) => n).filter(n => n % every === 0)
    t.same(pages.flat(), expected.toReversed(), `${count} rows, every ${every}, ${limit} on a page`)
    t.ok(pages.every(page => page.length <= limit))
    t.ok(most <= 10, `${most} queries for one page`)
  }
})

t.test('a page that ends early says that there is more', async t => {
  const { pages } = await pagesOf(2500, 10, ({ n }) => n === 0)
  t.same(pages, [[], [], [0]], 'the oldest of very many rows is found')
  t.same((await pagesOf(2500, 10, () => false)).pages.flat(), [])
})

t.test('a page reads no more rows than it needs, and more only for rows that are invisible', async t => {
  const { read, limits } = table(250)
  await visiblePage(read, () => true, { limit: 10, after: null })
  t.same(limits, [11])
  limits.length = 0
  await visiblePage(read, ({ n }) => n % 20 === 0, { limit: 2, after: null })
  t.same(limits, [3, 12, 48])
  limits.length = 0
  await visiblePage(read, () => false, { limit: 100, after: null })
  t.same(limits, [101, 101, 101])
})

t.test('the last page names no row that is invisible', async t => {
  const { read } = table(3)
  const { rows, endCursor } = await visiblePage(read, ({ n }) => n === 1, { limit: 2, after: null })
  t.equal(endCursor, encodeIdCursor(rows[0]?.id ?? ''))
  t.equal((await visiblePage(read, () => false, { limit: 2, after: null })).endCursor, null)
})

t.test('a cursor of another list is refused', async t => {
  const { read } = table(3)
  await t.rejects(
    visiblePage(read, () => true, { limit: 1, after: 'x' }),
    { message: /cursor/ },
  )
})

import { forEachAtOnce } from '../../../packages/client/src/index.ts'

interface Outcome<Item> {
  done: Item[]
  failures: { item: Item; error: unknown }[]
}

/**
 * Works on items, at most `limit` at once. A failure does not stop the others. After `signal` aborts, no item begins, and
 * those that were not finished are in neither list.
 */
export async function workConcurrently<Item>(
  items: readonly Item[],
  limit: number,
  work: (item: Item) => Promise<unknown>,
  signal?: AbortSignal,
): Promise<Outcome<Item>> {
  const outcome: Outcome<Item> = { done: [], failures: [] }
  async function* remaining() {
    for (const item of items) {
      if (signal?.aborted) return
      yield item
    }
  }
  await forEachAtOnce(remaining(), limit, async item => {
    try {
      await work(item)
      outcome.done.push(item)
    } catch (error) {
      if (!signal?.aborted) outcome.failures.push({ item, error })
    }
  })
  return outcome
}

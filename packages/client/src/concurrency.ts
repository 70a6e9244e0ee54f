/** Runs at most a number of pieces of work at once: over a sequence, or over a tree that is discovered meanwhile. */

/**
 * Runs `work` on the items, up to `limit` at once.
 * @throws the first error, after all running work has ended
 */
export async function forEachAtOnce<Item>(
  items: AsyncIterable<Item>,
  limit: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const iterator = items[Symbol.asyncIterator]()
  let hasFailed = false
  const runNext = async () => {
    try {
      while (!hasFailed) {
        const { done, value } = await iterator.next()
        if (done) return
        await work(value)
      }
    } catch (error) {
      hasFailed = true
      throw error
    }
  }
  const results = await Promise.allSettled(Array.from({ length: limit }, runNext))
  await iterator.return?.()
  for (const result of results) if (result.status === 'rejected') throw result.reason
}

/**
 * Works on `first` and on every item that the work finds, up to `limit` at once and in no particular order. Yields the results of
 * an item before those of the items that it found.
 * @throws the first error; other work may still run then
 */
export async function* expandAtOnce<Item, Result>(
  first: Item,
  limit: number,
  expand: (item: Item) => Promise<{ results: readonly Result[]; found: readonly Item[] }>,
): AsyncGenerator<Result, void, undefined> {
  const waiting = [first]
  const running = new Map<number, ReturnType<typeof expandOne>>()
  let lastId = 0

  async function expandOne(id: number, item: Item) {
    return { id, ...(await expand(item)) }
  }

  function startNext(): void {
    while (running.size < limit) {
      const item = waiting.pop()
      if (item === undefined) return
      lastId += 1
      const expanded = expandOne(lastId, item)
      // If another item fails first, nobody needs this failure.
      expanded.catch(() => {})
      running.set(lastId, expanded)
    }
  }

  for (startNext(); running.size > 0; startNext()) {
    const { id, results, found } = await Promise.race(running.values())
    running.delete(id)
    // A spread of very many items would exceed the stack.
    for (const item of found) waiting.push(item)
    yield* results
  }
}

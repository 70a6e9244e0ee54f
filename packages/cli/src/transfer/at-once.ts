/**
 * Runs `work` on the items, up to `limit` at the same time.
 * @throws the first error, after all running work has ended
 */
export async function forEachAtOnce<T>(
  items: AsyncIterable<T>,
  limit: number,
  work: (item: T) => Promise<void>,
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

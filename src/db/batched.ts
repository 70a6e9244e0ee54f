import DataLoader from 'dataloader'

/**
 * Lookups that arrive together share one query: those of one turn of the event loop. Nothing is kept: each lookup is
 * answered by a query that began after it was asked.
 */
export function batched<Key, Value>(
  query: (keys: readonly Key[]) => Promise<ReadonlyMap<Key, Value>>,
): (key: Key) => Promise<Value | null> {
  const loader = new DataLoader<Key, Value | null>(
    async keys => {
      const found = await query([...new Set(keys)])
      return keys.map(key => found.get(key) ?? null)
    },
    { cache: false, batchScheduleFn: callback => void setImmediate(callback), maxBatchSize: 500 },
  )
  return key => loader.load(key)
}

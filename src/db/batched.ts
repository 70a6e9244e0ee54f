import DataLoader from 'dataloader'

/**
 * Combines the lookups of one turn of the event loop into one query. Caches nothing: the query of each lookup begins after the
 * lookup.
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

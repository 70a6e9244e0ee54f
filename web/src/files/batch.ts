import { useEffect, useRef, useState } from 'react'

export interface Failure<Item> {
  item: Item
  error: unknown
}

/** Does the same with several things, a few at once; what fails keeps nothing else from being done. */
export function useBatch<Item>(work: (item: Item, signal: AbortSignal) => Promise<unknown>) {
  const [done, setDone] = useState(0)
  const [total, setTotal] = useState(0)
  const [isRunning, setRunning] = useState(false)
  const stop = useRef<AbortController | null>(null)
  useEffect(() => () => stop.current?.abort(), [])

  /** What was not done when it was stopped is in neither list. */
  const run = async (items: readonly Item[]): Promise<{ done: Item[]; failures: Failure<Item>[] }> => {
    const controller = new AbortController()
    stop.current = controller
    setDone(0)
    setTotal(items.length)
    setRunning(true)
    const finished: Item[] = []
    const failures: Failure<Item>[] = []
    const left = items.values()
    const worker = async () => {
      for (const item of left) {
        if (controller.signal.aborted) return
        try {
          await work(item, controller.signal)
          finished.push(item)
          setDone(finished.length)
        } catch (error) {
          if (!controller.signal.aborted) failures.push({ item, error })
        }
      }
    }
    await Promise.all([worker(), worker(), worker()])
    setRunning(false)
    return { done: finished, failures }
  }
  return { run, stop: () => stop.current?.abort(), isRunning, done, total }
}

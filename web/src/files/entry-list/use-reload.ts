import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'

/** Milliseconds in which the catalogue follows a change. */
const followTime = 2500

/** Returns a function that reads the queries of `key` again when the catalogue has followed a change. */
export function useReload(key: string): () => void {
  const client = useQueryClient()
  const [hasChanged, setChanged] = useState(false)
  useEffect(() => {
    if (!hasChanged) return
    const timer = setTimeout(() => {
      setChanged(false)
      void client.invalidateQueries({ queryKey: [key] })
    }, followTime)
    return () => clearTimeout(timer)
  }, [hasChanged, client, key])
  return () => setChanged(true)
}

import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { StowageError } from '../api/client.ts'
import { texts } from '../texts/shell.tsx'

/** Milliseconds between two attempts while the server cannot be reached. */
const retryInterval = 5000

/** Returns whether no server answered, or only a proxy in front of it. */
function isServerAway(error: unknown): error is StowageError {
  return error instanceof StowageError && (error.reason === 'NETWORK' || (error.status >= 502 && error.code === 'HTTP'))
}

/** Says that the server cannot be reached, and loads what failed again until it can be. */
export function ConnectionBanner() {
  const client = useQueryClient()
  const [problem, setProblem] = useState<string | null>(null)
  useEffect(
    () =>
      client.getQueryCache().subscribe(event => {
        if (event.type !== 'updated') return
        const { action } = event
        if (action.type === 'success' && !action.manual) setProblem(null)
        if (action.type === 'failed' || action.type === 'error') setProblem(describe(action.error))
      }),
    [client],
  )
  const isAway = problem !== null
  useEffect(() => {
    if (!isAway) return
    const retry = () =>
      void client.refetchQueries({ type: 'active', predicate: ({ state }) => isServerAway(state.error) })
    const timer = setInterval(retry, retryInterval)
    addEventListener('online', retry)
    return () => {
      clearInterval(timer)
      removeEventListener('online', retry)
    }
  }, [client, isAway])
  return (
    <p className="connection-banner" role="status">
      {problem}
    </p>
  )
}

function describe(error: unknown): string | null {
  if (!isServerAway(error)) return null
  if (!navigator.onLine) return texts.offline
  return error.status === 0 ? texts.unreachable : texts.unavailable(error.status)
}

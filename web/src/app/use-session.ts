import { useQuery, useQueryClient } from '@tanstack/react-query'
import { createContext, use } from 'react'
import { currentSession, type Session } from '../api/session.ts'

export const sessionKey = ['session'] as const

export function useSessionQuery() {
  return useQuery({
    queryKey: sessionKey,
    queryFn: async ({ client }) => {
      const session = await currentSession()
      const before = client.getQueryData<Session | null>(sessionKey)
      // What one person has fetched is not for the next one.
      if (before && before.viewer.user.id !== session?.viewer.user.id) {
        client.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== sessionKey[0] })
      }
      return session
    },
    staleTime: 60_000,
  })
}

/** Of whoever is signed in; inside of `Shell` somebody is. */
export const SessionContext = createContext<Session | null>(null)

export function useSession(): Session {
  const session = use(SessionContext)
  if (!session) throw new Error('This page stands outside of the shell')
  return session
}

/** Which of the three scopes the person has; what they may not do is not shown. */
export function useScopes() {
  const { scopes, providerAccess } = useSession().viewer
  return {
    canWrite: scopes.includes('write'),
    isAdmin: scopes.includes('admin'),
    reachesAll: providerAccess.all,
  }
}

/** Forgets all that was fetched for somebody else. */
export function useForgetAll() {
  const client = useQueryClient()
  return async () => {
    client.clear()
    await client.invalidateQueries()
  }
}

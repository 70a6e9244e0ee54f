import { useQuery, useQueryClient } from '@tanstack/react-query'
import { createContext, use } from 'react'
import { queryKeys } from './query-keys.ts'
import { currentSession, type Session } from './session.ts'

export function useSessionQuery() {
  return useQuery({
    queryKey: queryKeys.session,
    queryFn: async ({ client }) => {
      const session = await currentSession()
      const previous = client.getQueryData<Session | null>(queryKeys.session)
      // Data that one person has fetched must not be shown to the next one.
      if (previous && previous.viewer.user.id !== session?.viewer.user.id) {
        client.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== queryKeys.session[0] })
      }
      return session
    },
    staleTime: 60_000,
  })
}

/** The session of the person who is signed in. `Shell` provides it to the pages inside. */
export const SessionContext = createContext<Session | null>(null)

export function useSession(): Session {
  const session = use(SessionContext)
  if (!session) throw new Error('useSession needs a Shell around the page')
  return session
}

/** Returns what the person may do, so that pages can hide everything else. */
export function usePermissions() {
  const { scopes, providerAccess } = useSession().viewer
  const isAdmin = scopes.includes('admin')
  return {
    canRead: scopes.includes('read'),
    canWrite: scopes.includes('write'),
    isAdmin,
    /** What concerns the whole workspace needs an administrator with access to all storages. */
    isUnrestricted: isAdmin && providerAccess.all,
  }
}

/** Returns a function that drops everything that was fetched for the previous session. */
export function useClearCache() {
  const client = useQueryClient()
  return async () => {
    client.clear()
    await client.invalidateQueries()
  }
}

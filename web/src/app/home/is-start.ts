import { useQuery } from '@tanstack/react-query'
import { ask } from '../../api/client.ts'
import { graphql } from '../../api/graphql.ts'
import { queryKeys } from '../../api/query-keys.ts'
import { usePermissions } from '../../api/session.ts'
import type { Provider } from '../../files/operations.ts'

const FirstEntryQuery = graphql(`
  query FirstEntry($providerId: ID!, $path: String!) {
    folder(providerId: $providerId, path: $path) { entries(first: 1) { nodes { name } } }
  }
`)

/** Returns whether the workspace is new: it has no storage, or only one without files. */
export function useIsStart(providers: readonly Provider[] | undefined): boolean {
  const { isUnrestricted } = usePermissions()
  const [only, ...others] = providers ?? []
  const isCandidate = isUnrestricted && only !== undefined && others.length === 0
  const { data: hasEntries = true } = useQuery({
    queryKey: [...queryKeys.providers, 'first entry', only?.id],
    queryFn: async ({ signal }) => {
      const variables = { providerId: only?.id ?? '', path: only?.root.path ?? '/' }
      return (await ask(FirstEntryQuery, variables, { signal })).folder.entries.nodes.length > 0
    },
    enabled: isCandidate,
    retry: false,
  })
  return isUnrestricted && providers !== undefined && (providers.length === 0 || (isCandidate && !hasEntries))
}

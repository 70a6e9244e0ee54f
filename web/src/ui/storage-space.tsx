import { useQuery } from '@tanstack/react-query'
import { ask } from '../api/client.ts'
import { graphql } from '../api/graphql.ts'
import { queryKeys } from '../api/query-keys.ts'
import { formatBytes } from '../texts/format.ts'
import { texts } from '../texts/home.tsx'
import { SpaceMeter } from './space-meter.tsx'

const SpaceQuery = graphql(`
  query ProviderSpace($id: ID!) {
    provider(id: $id) { quota { used total } quotaRule { bytes usedBytes } }
  }
`)

/** Milliseconds. The question goes to the back end. */
const staleTime = 60_000

/** The space of a storage. The quota of the workspace comes before what the back end reports. */
export function StorageSpace({ provider: { id, name, type } }: { provider: Space }) {
  const { data } = useQuery({
    queryKey: [...queryKeys.providers, 'space', id],
    queryFn: async ({ signal }) => (await ask(SpaceQuery, { id }, { signal })).provider,
    staleTime,
    retry: false,
  })
  const limit = data?.quotaRule?.bytes ?? data?.quota?.total ?? null
  const used = data?.quotaRule?.bytes != null ? data.quotaRule.usedBytes : (data?.quota?.used ?? null)
  if (used === null) return null
  if (limit === null || limit === 0) return <p>{texts.used(formatBytes(used))}</p>
  // A disk also holds files outside of the folder.
  const words = type.type === 'local' && data?.quotaRule?.bytes == null ? texts.usedOfDisk : texts.usedOf
  const text = words(formatBytes(used), formatBytes(limit))
  return <SpaceMeter label={texts.space(name)} text={text} used={used} limit={limit} />
}

interface Space {
  id: string
  name: string
  type: { type: string }
}

import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Link } from 'react-router'
import { ask } from '../api/client.ts'
import { queryKeys } from '../api/query-keys.ts'
import { formatBytes } from '../texts/format.ts'
import { texts } from '../texts/storages.tsx'
import { errorMessage } from '../ui/error-box.tsx'
import { Icon } from '../ui/icons.tsx'
import { ConnectedContentQuery, KeepingQuery, QuotaQuery } from './operations.ts'

/** The number of names that stand for all of them. */
const shownNames = 4

/** What the test of a new storage has found, and the way to it. */
export function Ready({ id, name }: { id: string; name: string }) {
  const ofStorage = [...queryKeys.providers, id, 'result']
  const options = { retry: false, staleTime: Number.POSITIVE_INFINITY }
  const content = useQuery({
    queryKey: [...ofStorage, 'content'],
    queryFn: ({ signal }) => ask(ConnectedContentQuery, { id }, { signal }),
    ...options,
  })
  const space = useQuery({
    queryKey: [...ofStorage, 'space'],
    queryFn: ({ signal }) => ask(QuotaQuery, { id }, { signal }),
    ...options,
  })
  const keeping = useQuery({
    queryKey: [...ofStorage, 'keeping'],
    queryFn: ({ signal }) => ask(KeepingQuery, { id }, { signal }),
    ...options,
  })
  return (
    <>
      <h1>{texts.isConnected(name)}</h1>
      <ul className="test-result" aria-label={texts.testResult}>
        <Result title={texts.reached} query={{ isPending: false, error: null }}>
          {texts.reachedHelp}
        </Result>
        <Result title={texts.contents} query={content}>
          {content.data && contentOf(content.data.provider.root)}
        </Result>
        <Result title={texts.space} query={space}>
          {space.data && spaceOf(space.data.provider)}
        </Result>
        <Result title={texts.safety} query={keeping}>
          {keeping.data && texts.keeps(keeping.data.provider.trash.days, keeping.data.provider.versions.count)}
        </Result>
      </ul>
      <div className="inline-row">
        <Link className="button primary" to={`/files/${id}`}>
          {texts.openStorage(name)}
        </Link>
        <Link className="button" to="/files">
          {texts.toHome}
        </Link>
        <Link className="button" to="/connect">
          {texts.addAnother}
        </Link>
      </div>
    </>
  )
}

function Result({
  title,
  query,
  children,
}: {
  title: string
  query: { isPending: boolean; error: Error | null }
  children: ReactNode
}) {
  const state = query.error ? 'failed' : query.isPending ? 'pending' : 'passed'
  return (
    <li className={`result ${state}`}>
      <span className="result-mark">
        {state === 'pending' ? (
          <span className="spinner" aria-hidden="true" />
        ) : (
          <Icon name={state === 'failed' ? 'alert' : 'check'} />
        )}
      </span>
      <div>
        <h2>{title}</h2>
        <p>{query.error ? errorMessage(query.error) : query.isPending ? texts.reading : children}</p>
      </div>
    </li>
  )
}

function contentOf({
  entries: { nodes, pageInfo },
}: {
  entries: { nodes: { name: string }[]; pageInfo: { hasNextPage: boolean } }
}) {
  if (nodes.length === 0) return texts.emptyStorage
  const names = nodes.slice(0, shownNames).map(({ name }) => name)
  return texts.foundItems(nodes.length, { names, isMore: pageInfo.hasNextPage })
}

function spaceOf({ quota }: { quota: { used: number | null; total: number | null } | null }): string {
  if (!quota || quota.used === null) return texts.noUsage
  const used = formatBytes(quota.used)
  return quota.total === null ? texts.used(used) : texts.usedOf(used, formatBytes(quota.total))
}

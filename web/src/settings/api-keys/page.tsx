import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useSearchParams } from 'react-router'
import { queryKeys } from '../../api/query-keys.ts'
import { ask } from '../../api/request.ts'
import { usePermissions, useSession } from '../../api/use-session.ts'
import { Button } from '../../ui/button.tsx'
import { Choices } from '../../ui/choices.tsx'
import { Confirm } from '../../ui/confirm.tsx'
import { ErrorBox } from '../../ui/error-box.tsx'
import { Loading } from '../../ui/loading.tsx'
import { NameDialog } from '../../ui/name-dialog.tsx'
import { PageTitle } from '../../ui/page-title.tsx'
import { KeyTable } from './key-table.tsx'
import { NewKeyDialog } from './new-key-dialog.tsx'
import { type ApiKey, ApiKeysQuery, RenameKeyMutation, RevokeKeyMutation } from './operations.ts'

type StateFilter = 'all' | ApiKey['state']
type KeyDialog = { kind: 'new' } | { kind: 'rename' | 'revoke'; key: ApiKey }

/** Lists the viewer's own keys, or with `?user=` the keys of a member. */
export function ApiKeysPage() {
  const [search] = useSearchParams()
  const ofUser = search.get('user')
  const client = useQueryClient()
  const { workspace } = useSession()
  const { canRead } = usePermissions()
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery({
    queryKey: [...queryKeys.apiKeys, ofUser],
    queryFn: ({ signal, pageParam }) => ask(ApiKeysQuery, { ofUser, after: pageParam }, { signal }),
    initialPageParam: null as string | null,
    getNextPageParam: ({ apiKeys }) => (apiKeys.pageInfo.hasNextPage ? apiKeys.pageInfo.endCursor : null),
  })
  const keys = data?.pages.flatMap(({ apiKeys }) => apiKeys.nodes)
  const [shown, setShown] = useState<StateFilter>('all')
  const [open, setOpen] = useState<KeyDialog | null>(null)
  const close = () => setOpen(null)
  const reload = () => client.invalidateQueries({ queryKey: queryKeys.apiKeys })
  const owner = keys?.[0]?.owner
  return (
    <>
      <PageTitle>API keys</PageTitle>
      <div className="page-head">
        <h1>API keys{ofUser !== null && owner ? ` of ${owner.name ?? owner.email}` : ''}</h1>
        {ofUser === null && canRead && (
          <Button variant="primary" onPress={() => setOpen({ kind: 'new' })}>
            New key
          </Button>
        )}
      </div>
      <p className="help">
        API keys let scripts and other programs use Stowage. A key can never do more than its owner, and it stops
        working as soon as it is revoked.
      </p>
      {error && <ErrorBox error={error} retry={refetch} />}
      {!error && !data && <Loading label="Loading the keys" />}
      {keys?.length === 0 && (
        <div className="empty">
          <p>No keys yet.</p>
          {ofUser === null && canRead && <p>Create one with “New key”. You can limit it to one folder.</p>}
          {ofUser === null && !canRead && (
            <p>
              You do not have access to any files, so a key could do nothing. An owner or administrator of{' '}
              {workspace.name} can give you access under Settings &gt; Members.
            </p>
          )}
        </div>
      )}
      {keys && keys.length > 0 && (
        <>
          <Filter keys={keys} hasMore={hasNextPage} shown={shown} onChange={setShown} />
          <KeyTable
            keys={keys.filter(({ state }) => shown === 'all' || state === shown)}
            onRename={key => setOpen({ kind: 'rename', key })}
            onRevoke={key => setOpen({ kind: 'revoke', key })}
          />
        </>
      )}
      {hasNextPage && (
        <Button onPress={() => void fetchNextPage()} isPending={isFetchingNextPage}>
          Show more
        </Button>
      )}
      {open?.kind === 'new' && <NewKeyDialog onCreated={() => void reload()} onClose={close} />}
      {open?.kind === 'rename' && (
        <NameDialog
          title={`Rename “${open.key.name}”`}
          action="Rename"
          initial={open.key.name}
          maxLength={200}
          onSubmit={async name => {
            await ask(RenameKeyMutation, { id: open.key.id, name })
            await reload()
          }}
          onClose={close}
        />
      )}
      {open?.kind === 'revoke' && (
        <Confirm
          title={`Revoke “${open.key.name}”?`}
          action="Revoke"
          onConfirm={async () => {
            await ask(RevokeKeyMutation, { id: open.key.id })
            await reload()
          }}
          onClose={close}
        >
          <p>
            Programs that use <code>{open.key.displayPrefix}…</code> lose access immediately. This cannot be undone.
          </p>
        </Confirm>
      )}
    </>
  )
}

function Filter({
  keys,
  hasMore,
  shown,
  onChange,
}: {
  keys: readonly ApiKey[]
  /** Whether there are keys that are not loaded. */
  hasMore: boolean
  shown: StateFilter
  onChange: (shown: StateFilter) => void
}) {
  const count = (state: StateFilter) => keys.filter(key => state === 'all' || key.state === state).length
  const states: [StateFilter, string][] = [
    ['all', 'All'],
    ['active', 'Active'],
    ['expired', 'Expired'],
    ['revoked', 'Revoked'],
  ]
  return (
    <div className="filters">
      <Choices
        label="Filter by state"
        layout="row"
        value={shown}
        onChange={onChange}
        choices={states.map(([value, title]) => ({ value, title: `${title} (${count(value)}${hasMore ? '+' : ''})` }))}
      />
    </div>
  )
}

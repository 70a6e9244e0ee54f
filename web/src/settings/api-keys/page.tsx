import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useSearchParams } from 'react-router'
import { ask } from '../../api/request.ts'
import { Button } from '../../ui/button.tsx'
import { Choices } from '../../ui/choices.tsx'
import { Confirm } from '../../ui/confirm.tsx'
import { ErrorBox } from '../../ui/error-box.tsx'
import { Loading } from '../../ui/loading.tsx'
import { PageTitle } from '../../ui/page-title.tsx'
import { RenameDialog } from '../rename-dialog.tsx'
import { KeyTable } from './key-table.tsx'
import { NewKeyDialog } from './new-key-dialog.tsx'
import { type ApiKey, ApiKeysQuery, apiKeysKey, RenameKeyMutation, RevokeKeyMutation } from './operations.ts'

type Shown = 'all' | ApiKey['state']
type Open = { kind: 'new' } | { kind: 'rename' | 'revoke'; key: ApiKey }

/** One's own keys, or with `?user=` those of a member. */
export function ApiKeysPage() {
  const [search] = useSearchParams()
  const ofUser = search.get('user')
  const client = useQueryClient()
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery({
    queryKey: [...apiKeysKey, ofUser],
    queryFn: ({ signal, pageParam }) => ask(ApiKeysQuery, { ofUser, after: pageParam }, { signal }),
    initialPageParam: null as string | null,
    getNextPageParam: ({ apiKeys }) => (apiKeys.pageInfo.hasNextPage ? apiKeys.pageInfo.endCursor : null),
  })
  const keys = data?.pages.flatMap(({ apiKeys }) => apiKeys.nodes)
  const [shown, setShown] = useState<Shown>('all')
  const [open, setOpen] = useState<Open | null>(null)
  const close = () => setOpen(null)
  const reload = () => client.invalidateQueries({ queryKey: apiKeysKey })
  const owner = keys?.[0]?.owner
  return (
    <>
      <PageTitle>API Keys</PageTitle>
      <div className="page-head">
        <h1>API Keys{ofUser !== null && owner ? ` of ${owner.name ?? owner.email}` : ''}</h1>
        {ofUser === null && (
          <Button variant="primary" onPress={() => setOpen({ kind: 'new' })}>
            New key
          </Button>
        )}
      </div>
      <p className="help">
        For scripts and other programs. A key never reaches further than its owner, and stops at once when it is
        revoked.
      </p>
      {error && <ErrorBox error={error} retry={refetch} />}
      {!error && !data && <Loading label="Loading the keys" />}
      {keys?.length === 0 && (
        <div className="empty">
          <p>No keys yet.</p>
          {ofUser === null && <p>Make one with “New key”; it can be limited to one folder.</p>}
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
      {open?.kind === 'new' && <NewKeyDialog onMade={() => void reload()} onClose={close} />}
      {open?.kind === 'rename' && (
        <RenameDialog
          title="Rename the key"
          name={open.key.name}
          act={async name => {
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
          act={async () => {
            await ask(RevokeKeyMutation, { id: open.key.id })
            await reload()
          }}
          onClose={close}
        >
          <p>
            Whatever uses <code>{open.key.displayPrefix}…</code> is refused from then on. This cannot be taken back.
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
  shown: Shown
  onChange: (shown: Shown) => void
}) {
  const count = (state: Shown) => keys.filter(key => state === 'all' || key.state === state).length
  const states: [Shown, string][] = [
    ['all', 'All'],
    ['active', 'Active'],
    ['expired', 'Expired'],
    ['revoked', 'Revoked'],
  ]
  return (
    <div className="filters">
      <Choices
        label="Which keys are shown"
        layout="row"
        value={shown}
        onChange={onChange}
        choices={states.map(([value, title]) => ({ value, title: `${title} (${count(value)}${hasMore ? '+' : ''})` }))}
      />
    </div>
  )
}

import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useSearchParams } from 'react-router'
import { queryKeys } from '../../api/query-keys.ts'
import { ask } from '../../api/request.ts'
import { usePermissions, useSession } from '../../api/use-session.ts'
import { common } from '../../texts/common.ts'
import { texts } from '../../texts/settings.tsx'
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
      <PageTitle>{texts.apiKeys}</PageTitle>
      <div className="page-head">
        <h1>{ofUser !== null && owner ? texts.apiKeysOf(owner.name ?? owner.email) : texts.apiKeys}</h1>
        {ofUser === null && canRead && (
          <Button variant="primary" onPress={() => setOpen({ kind: 'new' })}>
            {texts.newKey}
          </Button>
        )}
      </div>
      <p className="help">{texts.apiKeysHelp}</p>
      {error && <ErrorBox error={error} retry={refetch} />}
      {!error && !data && <Loading label={texts.loadingKeys} />}
      {keys?.length === 0 && (
        <div className="empty">
          <p>{texts.noKeys}</p>
          {ofUser === null && canRead && <p>{texts.noKeysHelp}</p>}
          {ofUser === null && !canRead && <p>{texts.noKeysWithoutAccess(workspace.name)}</p>}
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
          {common.showMore}
        </Button>
      )}
      {open?.kind === 'new' && <NewKeyDialog onCreated={() => void reload()} onClose={close} />}
      {open?.kind === 'rename' && (
        <NameDialog
          title={common.renameTitle(open.key.name)}
          action={common.rename}
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
          title={common.revokeTitle(open.key.name)}
          action={common.revoke}
          onConfirm={async () => {
            await ask(RevokeKeyMutation, { id: open.key.id })
            await reload()
          }}
          onClose={close}
        >
          <p>{texts.revokeKeyHelp(<code>{open.key.displayPrefix}…</code>)}</p>
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
  const states = Object.entries(texts.keyStates) as [StateFilter, string][]
  return (
    <div className="filters">
      <Choices
        label={texts.filterByStatus}
        layout="row"
        value={shown}
        onChange={onChange}
        choices={states.map(([value, title]) => ({ value, title: texts.withCount(title, count(value), hasMore) }))}
      />
    </div>
  )
}

/** API keys: the page that lists them, and the dialog that creates one. */
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useSearchParams } from 'react-router'
import { ask } from '../../api/client.ts'
import { graphql, type ResultOf } from '../../api/graphql.ts'
import { queryKeys } from '../../api/query-keys.ts'
import { usePermissions, useSession } from '../../api/session.ts'
import { texts as applicationTexts } from '../../texts/applications.tsx'
import { common } from '../../texts/common.ts'
import { formatMinute } from '../../texts/format.ts'
import { texts as groupTexts } from '../../texts/groups.tsx'
import { texts } from '../../texts/settings.tsx'
import { Button } from '../../ui/button.tsx'
import { Choices } from '../../ui/choices.tsx'
import { Confirm, NameDialog } from '../../ui/dialog.tsx'
import { LoadState } from '../../ui/loading.tsx'
import { PageHead } from '../../ui/page.tsx'
import { ShowMore, usePages } from '../../ui/pages.tsx'
import { RowTable } from '../../ui/row-table.tsx'
import { Time } from '../../ui/time.tsx'
import { AccessSummary, scopeChoices } from '../access/access.tsx'
import { NewKeyDialog } from './new-key-dialog.tsx'

const ApiKeysQuery = graphql(`
  query ApiKeys($ofUser: ID, $after: String) {
    apiKeys(ofUser: $ofUser, first: 100, after: $after) {
      nodes {
        id name displayPrefix sshFingerprint scopes state createdAt lastUsedAt expiresAt revokedAt
        providerAccess { all restrictions { basePath provider { id name } } }
        application { destination }
        owner { id name email }
      }
      pageInfo { endCursor hasNextPage }
    }
  }
`)

type ApiKey = ResultOf<typeof ApiKeysQuery>['apiKeys']['nodes'][number]

const RevokeKeyMutation = graphql(`
  mutation RevokeApiKey($id: ID!) {
    revokeApiKey(id: $id) { id }
  }
`)

const RenameKeyMutation = graphql(`
  mutation RenameApiKey($id: ID!, $name: String!) {
    renameApiKey(id: $id, name: $name) { id }
  }
`)

type StateFilter = 'all' | ApiKey['state']
type KeyDialog = { kind: 'new' } | { kind: 'rename' | 'revoke'; key: ApiKey }

/** Lists the viewer's own keys, with `?user=` the keys of a member, or with `?service-account=` those of a service account. */
export function ApiKeysPage() {
  const [search] = useSearchParams()
  const account = search.get('service-account')
  const ofUser = account ?? search.get('user')
  const client = useQueryClient()
  const { workspace } = useSession()
  const { canRead } = usePermissions()
  const { query, nodes: keys } = usePages(
    [...queryKeys.apiKeys, ofUser],
    async (after, signal) => (await ask(ApiKeysQuery, { ofUser, after }, { signal })).apiKeys,
  )
  const [shown, setShown] = useState<StateFilter>('all')
  const [open, setOpen] = useState<KeyDialog | null>(null)
  const close = () => setOpen(null)
  const reload = () => client.invalidateQueries({ queryKey: queryKeys.apiKeys })
  const owner = keys?.[0]?.owner
  return (
    <>
      <PageHead
        title={texts.apiKeys}
        heading={ofUser !== null && owner ? texts.apiKeysOf(owner.name ?? owner.email) : texts.apiKeys}
      >
        {(account !== null || (ofUser === null && canRead)) && (
          <Button variant="primary" onPress={() => setOpen({ kind: 'new' })}>
            {texts.newKey}
          </Button>
        )}
      </PageHead>
      <p className="help">{account === null ? texts.apiKeysHelp : groupTexts.keysOfAccount}</p>
      <LoadState query={query} label={texts.loadingKeys} />
      {keys?.length === 0 && (
        <div className="empty">
          <p>{texts.noKeys}</p>
          {ofUser === null && canRead && <p>{texts.noKeysHelp}</p>}
          {ofUser === null && !canRead && <p>{texts.noKeysWithoutAccess(workspace.name)}</p>}
        </div>
      )}
      {keys && keys.length > 0 && (
        <>
          <Filter keys={keys} hasMore={query.hasNextPage} shown={shown} onChange={setShown} />
          <KeyTable
            keys={keys.filter(({ state }) => shown === 'all' || state === shown)}
            onRename={key => setOpen({ kind: 'rename', key })}
            onRevoke={key => setOpen({ kind: 'revoke', key })}
          />
        </>
      )}
      <ShowMore query={query} />
      {open?.kind === 'new' && <NewKeyDialog account={account} onCreated={() => void reload()} onClose={close} />}
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

interface KeyActions {
  onRename: (key: ApiKey) => void
  onRevoke: (key: ApiKey) => void
}

function KeyTable({ keys, ...actions }: KeyActions & { keys: readonly ApiKey[] }) {
  if (keys.length === 0) return <p className="empty">{texts.noMatches}</p>
  return (
    <RowTable
      label={texts.apiKeys}
      columns={[common.name, common.permission, common.access, common.created, common.status]}
    >
      {keys.map(key => (
        <Row key={key.id} apiKey={key} {...actions} />
      ))}
    </RowTable>
  )
}

const badges = { active: 'good', expired: 'warn', revoked: 'bad' } as const

function Row({ apiKey, onRename, onRevoke }: KeyActions & { apiKey: ApiKey }) {
  const {
    id,
    name,
    displayPrefix,
    sshFingerprint,
    state,
    createdAt,
    lastUsedAt,
    expiresAt,
    revokedAt,
    providerAccess,
    application,
    owner,
  } = apiKey
  const nameId = `key-${id}`
  // Each scope includes the ones before it, so it is enough to show the last one.
  const highestScope = scopeChoices.findLast(({ value }) => apiKey.scopes.includes(value))
  return (
    <tr className={state === 'active' ? '' : 'inactive'}>
      <td>
        <div className="main-cell" id={nameId} dir="auto">
          {name}
        </div>
        <code>{displayPrefix}…</code>
        {sshFingerprint && (
          <div className="help">{texts.publicKeyOf(<code>{sshFingerprint}</code>, <code>{owner.email}</code>)}</div>
        )}
        {application && <div className="help">{applicationTexts.ofApplication(application.destination)}</div>}
      </td>
      <td data-label={common.permission}>{highestScope?.title}</td>
      <td data-label={common.access}>
        <AccessSummary access={providerAccess} />
      </td>
      <td data-label={common.created}>
        <Time at={createdAt} />
        <div className="help">
          {lastUsedAt ? texts.keyUsed(<Time at={lastUsedAt} as="distance" />) : texts.keyNeverUsed}
        </div>
      </td>
      <td data-label={common.status}>
        <span className={`badge ${badges[state]}`} {...(revokedAt && { title: formatMinute(revokedAt) })}>
          {texts.keyStates[state]}
        </span>
        {state !== 'revoked' && (
          <div className="help">{expiresAt ? texts.keyExpires(<Time at={expiresAt} />) : texts.keyNeverExpires}</div>
        )}
      </td>
      <td className="actions-cell">
        <div className="actions">
          <Button onPress={() => onRename(apiKey)} aria-describedby={nameId}>
            {common.rename}
          </Button>
          {state === 'active' && (
            <Button variant="danger" onPress={() => onRevoke(apiKey)} aria-describedby={nameId}>
              {common.revoke}
            </Button>
          )}
        </div>
      </td>
    </tr>
  )
}

import { common } from '../../texts/common.ts'
import { formatMinute } from '../../texts/format.ts'
import { texts } from '../../texts/settings.tsx'
import { Button } from '../../ui/button.tsx'
import { RowTable } from '../../ui/row-table.tsx'
import { Time } from '../../ui/time.tsx'
import { AccessSummary } from '../access/access-summary.tsx'
import { scopeChoices } from '../access/draft.ts'
import type { ApiKey } from './operations.ts'

interface KeyActions {
  onRename: (key: ApiKey) => void
  onRevoke: (key: ApiKey) => void
}

export function KeyTable({ keys, ...actions }: KeyActions & { keys: readonly ApiKey[] }) {
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
  const { id, name, displayPrefix, state, createdAt, lastUsedAt, expiresAt, revokedAt, providerAccess } = apiKey
  const nameId = `key-${id}`
  // Each scope includes the ones before it, so it is enough to show the last one.
  const highestScope = scopeChoices.findLast(({ value }) => apiKey.scopes.includes(value))
  return (
    <tr className={state === 'active' ? '' : 'inactive'}>
      <td>
        <div className="main-cell" id={nameId}>
          {name}
        </div>
        <code>{displayPrefix}…</code>
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

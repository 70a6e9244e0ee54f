import { Button } from '../../ui/button.tsx'
import { formatMinute } from '../../ui/format.ts'
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
  if (keys.length === 0) return <p className="empty">No keys match this filter.</p>
  return (
    <RowTable label="API keys" columns={['Name', 'Access', 'State', 'Last used', 'Expires']}>
      {keys.map(key => (
        <Row key={key.id} apiKey={key} {...actions} />
      ))}
    </RowTable>
  )
}

const states = {
  active: { title: 'Active', badge: 'good' },
  expired: { title: 'Expired', badge: 'warn' },
  revoked: { title: 'Revoked', badge: 'bad' },
} as const

function Row({ apiKey, onRename, onRevoke }: KeyActions & { apiKey: ApiKey }) {
  const { id, name, displayPrefix, state, lastUsedAt, expiresAt, revokedAt, providerAccess } = apiKey
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
      <td data-label="Access">
        {highestScope?.title}
        <div className="help">
          <AccessSummary access={providerAccess} />
        </div>
      </td>
      <td>
        <span className={`badge ${states[state].badge}`} {...(revokedAt && { title: formatMinute(revokedAt) })}>
          {states[state].title}
        </span>
      </td>
      <td data-label="Last used">{lastUsedAt ? <Time at={lastUsedAt} as="distance" /> : 'Never'}</td>
      <td data-label="Expires">{expiresAt ? <Time at={expiresAt} /> : 'Never'}</td>
      <td className="actions-cell">
        <div className="actions">
          <Button onPress={() => onRename(apiKey)} aria-describedby={nameId}>
            Rename
          </Button>
          {state === 'active' && (
            <Button variant="danger" onPress={() => onRevoke(apiKey)} aria-describedby={nameId}>
              Revoke
            </Button>
          )}
        </div>
      </td>
    </tr>
  )
}

import { Button } from '../../ui/button.tsx'
import { RowTable } from '../../ui/row-table.tsx'
import { Time } from '../../ui/time.tsx'
import { AccessSummary } from '../access/access-summary.tsx'
import { scopes } from '../access/draft.ts'
import type { ApiKey } from './operations.ts'

interface Actions {
  onRename: (key: ApiKey) => void
  onRevoke: (key: ApiKey) => void
}

export function KeyTable({ keys, ...actions }: Actions & { keys: readonly ApiKey[] }) {
  if (keys.length === 0) return <p className="empty">None of the keys is like that.</p>
  return (
    <RowTable label="API keys" columns={['Name', 'May', 'State', 'Last used', 'Expires']}>
      {keys.map(key => (
        <Row key={key.id} apiKey={key} {...actions} />
      ))}
    </RowTable>
  )
}

const stateBadge = { active: 'good', expired: 'warn', revoked: 'bad' } as const

function Row({ apiKey, onRename, onRevoke }: Actions & { apiKey: ApiKey }) {
  const { id, name, displayPrefix, state, lastUsedAt, expiresAt, revokedAt, providerAccess } = apiKey
  const nameId = `key-${id}`
  // Each scope includes those below it.
  const highest = scopes.findLast(scope => apiKey.scopes.includes(scope))
  return (
    <tr className={state === 'active' ? '' : 'inactive'}>
      <td>
        <div className="main-cell" id={nameId}>
          {name}
        </div>
        <code>{displayPrefix}…</code>
      </td>
      <td data-label="May">
        {highest}
        <div className="help">
          <AccessSummary access={providerAccess} />
        </div>
      </td>
      <td>
        <span
          className={`badge ${stateBadge[state]}`}
          {...(revokedAt && { title: new Date(revokedAt).toLocaleString() })}
        >
          {state}
        </span>
      </td>
      <td data-label="Last used">{lastUsedAt ? <Time at={lastUsedAt} as="distance" /> : 'never'}</td>
      <td data-label="Expires">{expiresAt ? <Time at={expiresAt} /> : 'never'}</td>
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

import { common } from '../texts/common.ts'
import { texts } from '../texts/shares.tsx'
import { Button } from '../ui/button.tsx'
import { CopyButton } from '../ui/copy-button.tsx'
import { RowTable } from '../ui/row-table.tsx'
import { Time } from '../ui/time.tsx'
import type { Share } from './operations.ts'

interface Actions {
  /** The person whose shares do not name their creator. */
  ownId: string
  /** The names of the storages that the person can access, by id. */
  storageNames: ReadonlyMap<string, string>
  onEdit: (share: Share) => void
  onRevoke: (share: Share) => void
}

export function ShareTable({ shares, ...actions }: Actions & { shares: readonly Share[] }) {
  return (
    <RowTable
      label={texts.shares}
      columns={[texts.shared, common.permission, common.created, texts.use, common.status]}
    >
      {shares.map(share => (
        <Row key={share.id} share={share} {...actions} />
      ))}
    </RowTable>
  )
}

const badges = { ACTIVE: 'good', EXPIRED: 'warn', USED_UP: 'warn', REVOKED: 'bad' } as const

function Row({ share, ownId, storageNames, onEdit, onRevoke }: Actions & { share: Share }) {
  const { id, kind, state, url, providerId, paths, hasPassword, expiresAt, createdAt, createdBy } = share
  const nameId = `share-${id}`
  const [first = '/', ...others] = paths
  const storageName = storageNames.get(providerId)
  return (
    <tr className={state === 'ACTIVE' ? '' : 'inactive'}>
      <td>
        <div className="main-cell" id={nameId}>
          {texts.andMore(first, others.length)}
        </div>
        {storageName !== undefined && <div className="help">{storageName}</div>}
        {createdBy && createdBy.id !== ownId && (
          <div className="help">{texts.madeBy(createdBy.name ?? createdBy.email)}</div>
        )}
      </td>
      <td data-label={common.permission}>
        {texts.kinds[kind]}
        {hasPassword && <div className="help">{texts.withPassword}</div>}
      </td>
      <td data-label={common.created}>
        <Time at={createdAt} />
      </td>
      <td data-label={texts.use}>
        {kind === 'VIEW'
          ? texts.downloads(share.downloads, share.maxDownloads)
          : texts.received(share.receivedBytes, share.maxBytes)}
      </td>
      <td data-label={common.status}>
        <span className={`badge ${badges[state]}`}>{texts.states[state]}</span>
        <div className="help">{expiresAt ? texts.until(<Time at={expiresAt} />) : texts.noEnd}</div>
      </td>
      <td className="actions-cell">
        <div className="actions">
          {url !== null && state === 'ACTIVE' && <CopyButton text={url} label={texts.copyLink} />}
          {state !== 'REVOKED' && (
            <Button onPress={() => onEdit(share)} aria-describedby={nameId}>
              {common.edit}
            </Button>
          )}
          {state !== 'REVOKED' && (
            <Button variant="danger" onPress={() => onRevoke(share)} aria-describedby={nameId}>
              {common.revoke}
            </Button>
          )}
        </div>
      </td>
    </tr>
  )
}

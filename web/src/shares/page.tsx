/** The list of shares. The dialog that creates one belongs to the files. */
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { ask } from '../api/client.ts'
import { queryKeys } from '../api/query-keys.ts'
import { usePermissions, useSession } from '../api/session.ts'
import { RevokeShareMutation } from '../api/shares.ts'
import { common } from '../texts/common.ts'
import { formatList } from '../texts/format.ts'
import { texts } from '../texts/shares.tsx'
import { Button } from '../ui/button.tsx'
import { Checkbox, Choices } from '../ui/choices.tsx'
import { CopyButton } from '../ui/copy-button.tsx'
import { Confirm } from '../ui/dialog.tsx'
import { LoadState } from '../ui/loading.tsx'
import { PageHead } from '../ui/page.tsx'
import { ShowMore, usePages } from '../ui/pages.tsx'
import { RowTable } from '../ui/row-table.tsx'
import { Time } from '../ui/time.tsx'
import { EditShareDialog } from './edit-dialog.tsx'
import { type Share, SharesQuery } from './operations.ts'

type Whose = 'mine' | 'everybody'

/** Lists the share links of the person; for administrators without restrictions, those of everybody, too. */
export function SharesPage() {
  const { isUnrestricted } = usePermissions()
  const { user } = useSession().viewer
  const client = useQueryClient()
  const [whose, setWhose] = useState<Whose>('mine')
  const [includeInactive, setIncludeInactive] = useState(false)
  const [editing, setEditing] = useState<Share | null>(null)
  const [revoking, setRevoking] = useState<Share | null>(null)
  const ofUser = whose === 'mine' ? user.id : null
  const { query, nodes: shares } = usePages([...queryKeys.shares, ofUser, includeInactive], async (after, signal) => {
    const { shares, providers } = await ask(SharesQuery, { ofUser, includeInactive, after }, { signal })
    return { ...shares, providers }
  })
  const storageNames = new Map(query.data?.pages.at(-1)?.providers.map(({ id, name }) => [id, name]))
  return (
    <main className="page rows-page">
      <PageHead title={texts.shares} />
      <p className="help">{texts.help}</p>
      <div className="filters">
        {isUnrestricted && (
          <Choices
            label={texts.whose}
            layout="row"
            value={whose}
            onChange={setWhose}
            choices={[
              { value: 'mine', title: texts.mine },
              { value: 'everybody', title: texts.everybody },
            ]}
          />
        )}
        <Checkbox isSelected={includeInactive} onChange={setIncludeInactive}>
          {texts.showEnded}
        </Checkbox>
      </div>
      <LoadState query={query} label={texts.loading} />
      {shares?.length === 0 && (
        <div className="empty">
          <p>{texts.none}</p>
          <p>{texts.noneHelp}</p>
        </div>
      )}
      {shares && shares.length > 0 && (
        <ShareTable
          shares={shares}
          ownId={user.id}
          storageNames={storageNames}
          onEdit={setEditing}
          onRevoke={setRevoking}
        />
      )}
      <ShowMore query={query} />
      {editing && <EditShareDialog share={editing} onClose={() => setEditing(null)} />}
      {revoking && (
        <Confirm
          title={common.revokeTitle(revoking.paths[0] ?? '')}
          action={common.revoke}
          onConfirm={async () => {
            await ask(RevokeShareMutation, { id: revoking.id })
            await client.invalidateQueries({ queryKey: queryKeys.shares })
          }}
          onClose={() => setRevoking(null)}
        >
          <p>{texts.revokeHelp}</p>
        </Confirm>
      )}
    </main>
  )
}

interface Actions {
  /** The person whose shares do not name their creator. */
  ownId: string
  /** The names of the storages that the person can access, by id. */
  storageNames: ReadonlyMap<string, string>
  onEdit: (share: Share) => void
  onRevoke: (share: Share) => void
}

function ShareTable({ shares, ...actions }: Actions & { shares: readonly Share[] }) {
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
  const { id, kind, state, url, providerId, paths, hasPassword, expiresAt, createdAt, createdBy, recipients } = share
  const nameId = `share-${id}`
  const [first = '/', ...others] = paths
  const storageName = storageNames.get(providerId)
  return (
    <tr className={state === 'ACTIVE' ? '' : 'inactive'}>
      <td>
        <div className="main-cell" id={nameId} dir="auto">
          {texts.andMore(first, others.length)}
        </div>
        {storageName !== undefined && (
          <div className="help" dir="auto">
            {storageName}
          </div>
        )}
        {createdBy && createdBy.id !== ownId && (
          <div className="help">{texts.createdBy(createdBy.name ?? createdBy.email)}</div>
        )}
      </td>
      <td data-label={common.permission}>
        {texts.kindTitles[kind]}
        {recipients && <div className="help">{recipientsOf(recipients.map(({ name }) => name))}</div>}
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

/** The number of people and groups who are named. */
const maxNamed = 3

function recipientsOf(names: readonly string[]): string {
  if (names.length === 0) return texts.withNobody
  const others = names.length - maxNamed
  return texts.withPeople(formatList(others > 0 ? [...names.slice(0, maxNamed), texts.others(others)] : names))
}

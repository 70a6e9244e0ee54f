import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { ask } from '../../api/client.ts'
import { queryKeys } from '../../api/query-keys.ts'
import { common } from '../../texts/common.ts'
import { texts } from '../../texts/settings.tsx'
import { Button } from '../../ui/button.tsx'
import { Confirm } from '../../ui/dialog.tsx'
import { LoadState } from '../../ui/loading.tsx'
import { RowTable } from '../../ui/row-table.tsx'
import { Time } from '../../ui/time.tsx'
import { AccessSummary } from '../access/access.tsx'
import { type Invite, InvitesQuery, RevokeInviteMutation } from './operations.ts'

/** Lists the invites that can still be used. */
export function Invites() {
  const client = useQueryClient()
  const query = useQuery({
    queryKey: queryKeys.invites,
    queryFn: ({ signal }) => ask(InvitesQuery, {}, { signal }),
  })
  const invites = query.data?.invites
  const [revoking, setRevoking] = useState<Invite | null>(null)
  return (
    <>
      <h2>{texts.openInvites}</h2>
      <LoadState query={query} label={texts.loadingInvites} />
      {invites?.length === 0 && <p className="help">{texts.noInvites}</p>}
      {invites && invites.length > 0 && <InviteTable invites={invites} onRevoke={setRevoking} />}
      {revoking && (
        <Confirm
          title={texts.revokeInviteTitle}
          action={common.revoke}
          onConfirm={async () => {
            try {
              await ask(RevokeInviteMutation, { id: revoking.id })
            } finally {
              // If revoking fails, somebody may have registered with the invite meanwhile.
              const reload = [queryKeys.invites, queryKeys.members].map(queryKey =>
                client.invalidateQueries({ queryKey }),
              )
              await Promise.all(reload)
            }
          }}
          onClose={() => setRevoking(null)}
        >
          <p>{texts.revokeInviteHelp(texts.roles[revoking.role])}</p>
        </Confirm>
      )}
    </>
  )
}

function InviteTable({ invites, onRevoke }: { invites: readonly Invite[]; onRevoke: (invite: Invite) => void }) {
  return (
    <RowTable label={texts.openInvites} columns={[texts.role, common.access, common.created, common.expires]}>
      {invites.map(invite => (
        <Row key={invite.id} invite={invite} onRevoke={onRevoke} />
      ))}
    </RowTable>
  )
}

function Row({ invite, onRevoke }: { invite: Invite; onRevoke: (invite: Invite) => void }) {
  const { id, role, note, providerAccess, createdAt, createdBy, expiresAt } = invite
  const [roleId, createdId] = [`invite-${id}`, `invite-${id}-created`]
  return (
    <tr>
      <td id={roleId}>
        {note && <div className="main-cell">{note}</div>}
        <span className="badge">{texts.roles[role]}</span>
      </td>
      <td data-label={common.access}>{role === 'NONE' ? common.none : <AccessSummary access={providerAccess} />}</td>
      <td data-label={common.created} id={createdId}>
        <Time at={createdAt} as="distance" />
        <div className="help">
          {createdBy ? texts.createdBy(createdBy.name ?? createdBy.email) : texts.createdByFormer}
        </div>
      </td>
      <td data-label={common.expires}>
        <Time at={expiresAt} as="distance" />
      </td>
      <td className="actions-cell">
        <div className="actions">
          <Button variant="danger" onPress={() => onRevoke(invite)} aria-describedby={`${roleId} ${createdId}`}>
            {common.revoke}
          </Button>
        </div>
      </td>
    </tr>
  )
}

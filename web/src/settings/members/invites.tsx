import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { queryKeys } from '../../api/query-keys.ts'
import { ask } from '../../api/request.ts'
import { Button } from '../../ui/button.tsx'
import { Confirm } from '../../ui/confirm.tsx'
import { ErrorBox } from '../../ui/error-box.tsx'
import { Loading } from '../../ui/loading.tsx'
import { RowTable } from '../../ui/row-table.tsx'
import { Time } from '../../ui/time.tsx'
import { AccessSummary } from '../access/access-summary.tsx'
import { roleTitles } from '../access/draft.ts'
import { type Invite, InvitesQuery, RevokeInviteMutation } from './operations.ts'

/** Lists the invites that can still be used. */
export function Invites() {
  const client = useQueryClient()
  const { data, error, refetch } = useQuery({
    queryKey: queryKeys.invites,
    queryFn: ({ signal }) => ask(InvitesQuery, {}, { signal }),
  })
  const [revoking, setRevoking] = useState<Invite | null>(null)
  return (
    <>
      <h2>Open invites</h2>
      {error && <ErrorBox error={error} retry={refetch} />}
      {!error && !data && <Loading label="Loading the invites" />}
      {data?.invites.length === 0 && <p className="help">There are no open invites.</p>}
      {data && data.invites.length > 0 && <InviteTable invites={data.invites} onRevoke={setRevoking} />}
      {revoking && (
        <Confirm
          title="Revoke this invite?"
          action="Revoke"
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
          <p>
            Its link will no longer let anyone join as {roleTitles[revoking.role]}. This cannot be undone, but you can
            create another invite.
          </p>
        </Confirm>
      )}
    </>
  )
}

function InviteTable({ invites, onRevoke }: { invites: readonly Invite[]; onRevoke: (invite: Invite) => void }) {
  return (
    <RowTable label="Open invites" columns={['Role', 'Access', 'Created', 'Expires']}>
      {invites.map(invite => (
        <Row key={invite.id} invite={invite} onRevoke={onRevoke} />
      ))}
    </RowTable>
  )
}

function Row({ invite, onRevoke }: { invite: Invite; onRevoke: (invite: Invite) => void }) {
  const { id, role, providerAccess, createdAt, createdBy, expiresAt } = invite
  const [roleId, createdId] = [`invite-${id}`, `invite-${id}-created`]
  return (
    <tr>
      <td id={roleId}>
        <span className="badge">{roleTitles[role]}</span>
      </td>
      <td data-label="Access">{role === 'NONE' ? 'None' : <AccessSummary access={providerAccess} />}</td>
      <td data-label="Created" id={createdId}>
        <Time at={createdAt} as="distance" />
        <div className="help">
          by {createdBy ? (createdBy.name ?? createdBy.email) : 'a former member, so it no longer works'}
        </div>
      </td>
      <td data-label="Expires">
        <Time at={expiresAt} as="distance" />
      </td>
      <td className="actions-cell">
        <div className="actions">
          <Button variant="danger" onPress={() => onRevoke(invite)} aria-describedby={`${roleId} ${createdId}`}>
            Revoke
          </Button>
        </div>
      </td>
    </tr>
  )
}

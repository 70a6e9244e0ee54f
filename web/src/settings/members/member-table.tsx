import { Link } from 'react-router'
import { useSession } from '../../api/use-session.ts'
import { Button } from '../../ui/button.tsx'
import { RowTable } from '../../ui/row-table.tsx'
import { Time } from '../../ui/time.tsx'
import { AccessSummary } from '../access/access-summary.tsx'
import { roleTitles } from '../access/draft.ts'
import type { Member } from './operations.ts'

interface MemberActions {
  onEdit: (member: Member) => void
  onRemove: (member: Member) => void
}

export function MemberTable({ members, ...actions }: MemberActions & { members: readonly Member[] }) {
  return (
    <RowTable label="Members" columns={['Member', 'Role', 'Access', 'Joined']}>
      {members.map(member => (
        <Row key={member.id} member={member} {...actions} />
      ))}
    </RowTable>
  )
}

function Row({ member, onEdit, onRemove }: MemberActions & { member: Member }) {
  const { user: self } = useSession().viewer
  const { id, name, email, role, createdAt, providerAccess } = member
  const nameId = `member-${id}`
  const isSelf = id === self.id
  // Only owners may change owners.
  const mayChange = !isSelf && (role !== 'OWNER' || self.role === 'OWNER')
  return (
    <tr>
      <td id={nameId}>
        {name && <div className="main-cell">{name}</div>}
        <div className={name ? 'help' : 'main-cell'}>
          {email}
          {isSelf && ' (you)'}
        </div>
      </td>
      <td>
        <span className={`badge ${role === 'NONE' ? 'warn' : ''}`}>{roleTitles[role]}</span>
      </td>
      <td data-label="Access">{role === 'NONE' ? 'None' : <AccessSummary access={providerAccess} />}</td>
      <td data-label="Joined">
        <Time at={createdAt} />
      </td>
      <td className="actions-cell">
        {mayChange && (
          <div className="actions">
            <Link className="button" to={`/settings/api-keys?user=${id}`} aria-describedby={nameId}>
              Keys
            </Link>
            <Button onPress={() => onEdit(member)} aria-describedby={nameId}>
              Edit
            </Button>
            <Button variant="danger" onPress={() => onRemove(member)} aria-describedby={nameId}>
              Remove
            </Button>
          </div>
        )}
      </td>
    </tr>
  )
}

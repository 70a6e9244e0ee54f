import { Link } from 'react-router'
import { useSession } from '../../api/use-session.ts'
import { common } from '../../texts/common.ts'
import { texts } from '../../texts/settings.tsx'
import { Button } from '../../ui/button.tsx'
import { RowTable } from '../../ui/row-table.tsx'
import { Time } from '../../ui/time.tsx'
import { AccessSummary } from '../access/access-summary.tsx'
import type { Member } from './operations.ts'

interface MemberActions {
  onView: (member: Member) => void
  onEdit: (member: Member) => void
  onReset: (member: Member) => void
  onRemove: (member: Member) => void
}

export function MemberTable({ members, ...actions }: MemberActions & { members: readonly Member[] }) {
  return (
    <RowTable label={texts.members} columns={[texts.member, texts.role, common.access, texts.joined]}>
      {members.map(member => (
        <Row key={member.id} member={member} {...actions} />
      ))}
    </RowTable>
  )
}

function Row({ member, onView, onEdit, onReset, onRemove }: MemberActions & { member: Member }) {
  const { user: self } = useSession().viewer
  const { id, name, email, role, createdAt, providerAccess } = member
  const nameId = `member-${id}`
  const isSelf = id === self.id
  // Only owners may change owners.
  const mayChange = !isSelf && (role !== 'OWNER' || self.role === 'OWNER')
  return (
    <tr>
      <td id={nameId} className="person-cell">
        {name && <div className="main-cell">{name}</div>}
        <div className={name ? 'help' : 'main-cell'}>{isSelf ? texts.you(email) : email}</div>
      </td>
      <td>
        <span className={`badge ${role === 'NONE' ? 'warn' : ''}`}>{texts.roles[role]}</span>
      </td>
      <td data-label={common.access}>{role === 'NONE' ? common.none : <AccessSummary access={providerAccess} />}</td>
      <td data-label={texts.joined}>
        <Time at={createdAt} />
      </td>
      <td className="actions-cell">
        {mayChange && (
          <div className="actions">
            <Link className="button" to={`/settings/api-keys?user=${id}`} aria-describedby={nameId}>
              {texts.keys}
            </Link>
            <Button onPress={() => onView(member)} aria-describedby={nameId}>
              {texts.viewAs}
            </Button>
            <Button onPress={() => onEdit(member)} aria-describedby={nameId}>
              {common.edit}
            </Button>
            <Button onPress={() => onReset(member)} aria-describedby={nameId}>
              {texts.resetPassword}
            </Button>
            <Button variant="danger" onPress={() => onRemove(member)} aria-describedby={nameId}>
              {common.remove}
            </Button>
          </div>
        )}
      </td>
    </tr>
  )
}

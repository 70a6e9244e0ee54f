import { texts } from '../../texts/groups.tsx'
import { texts as settings } from '../../texts/settings.tsx'
import type { Member } from './operations.ts'

/** Shows a member's own role, and the groups that may give a stronger one. */
export function RoleAndGroups({ member: { role, groups } }: { member: Member }) {
  const names = groups.map(({ name }) => name).join(', ')
  return (
    <>
      <span className={`badge ${role === 'NONE' ? 'warn' : ''}`}>{settings.roles[role]}</span>
      {names !== '' && <div className="help">{texts.inGroups(names)}</div>}
    </>
  )
}

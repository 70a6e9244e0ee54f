import { texts as directories } from '../../texts/directories.tsx'
import { formatList } from '../../texts/format.ts'
import { texts } from '../../texts/groups.tsx'
import { texts as settings } from '../../texts/settings.tsx'
import type { Member } from './operations.ts'

/** Shows a member's own role, and the groups that may give a stronger one. */
export function RoleAndGroups({
  member: { role, groups, deactivatedAt, directory, directoryName },
}: {
  member: Member
}) {
  const names = formatList(groups.map(({ name }) => name))
  return (
    <>
      <span className={`badge ${role === 'NONE' ? 'warn' : ''}`}>{settings.roles[role]}</span>
      {deactivatedAt !== null && <span className="badge warn">{settings.deactivated}</span>}
      {directory !== null && <div className="help">{directories.from(directoryName, directory)}</div>}
      {names !== '' && <div className="help">{texts.inGroups(names)}</div>}
    </>
  )
}

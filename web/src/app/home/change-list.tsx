import { Link } from 'react-router'
import { nameOfPath, parentPath } from '../../api/locations.ts'
import { folderHref } from '../../files/addresses.ts'
import { common } from '../../texts/common.ts'
import { texts } from '../../texts/home.tsx'
import { Avatar } from '../../ui/avatar.tsx'
import { Time } from '../../ui/time.tsx'

type ChangeAction = keyof typeof texts.changes

/** A change that people read as a sentence. */
export interface TeamChange {
  id: string
  at: string
  action: ChangeAction
  /** Null for the server and for visitors. */
  userId: string | null
  who: string
  providerId: string | null
  /** Null for a storage that was disconnected since. */
  providerName: string | null
  /** Null for a change of the storage itself. */
  path: string | null
  /** Whether the path is that of the folder of what was changed. */
  isFolder: boolean
  /** The number of files that a job has changed; null for other changes. */
  count: number | null
}

interface ChangeGroup {
  change: TeamChange
  /** The number of files and folders that were changed in the same way in the same folder, one after the other. */
  count: number
}

export function isTeamAction(action: string): action is ChangeAction {
  return action in texts.changes
}

/** Joins changes of the same kind in the same folder by the same person that follow each other. */
export function groupChanges(changes: readonly TeamChange[]): ChangeGroup[] {
  const groups: ChangeGroup[] = []
  for (const change of changes) {
    const last = groups.at(-1)
    const isSame =
      last?.change.action === change.action &&
      last.change.userId === change.userId &&
      last.change.who === change.who &&
      last.change.providerId === change.providerId &&
      folderOf(last.change) === folderOf(change)
    if (isSame) last.count += change.count ?? 1
    else groups.push({ change, count: change.count ?? 1 })
  }
  return groups
}

function folderOf({ path, isFolder }: TeamChange): string | null {
  return path === null || isFolder ? path : parentPath(path)
}

export function ChangeList({ groups }: { groups: readonly ChangeGroup[] }) {
  return (
    <ul className="plain-list">
      {groups.map(({ change, count }) => (
        <li key={change.id} className="team-change">
          <Avatar name={change.who} />
          <span>
            {texts.did(
              <strong>{change.who}</strong>,
              texts.changes[change.action],
              <Subject change={change} count={count} />,
            )}
          </span>
          <span className="help">
            <Time at={change.at} as="distance" />
          </span>
        </li>
      ))}
    </ul>
  )
}

/** Names the file of one change, or counts the files of several, and links their folder. */
function Subject({ change, count }: ChangeGroup) {
  const { providerId, providerName, path } = change
  const folder = folderOf(change)
  if (providerId === null || path === null || folder === null) return providerName
  const what = count > 1 || change.count !== null ? texts.items(count) : common.quoted(nameOfPath(path))
  if (providerName === null) return what
  const name = folder === '/' ? providerName : nameOfPath(folder)
  return (
    <>
      {what} · <Link to={folderHref(providerId, folder)}>{name}</Link>
    </>
  )
}

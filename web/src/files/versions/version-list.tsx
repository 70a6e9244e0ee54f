import { ListBox, ListBoxItem } from 'react-aria-components'
import { formatBytes, formatMinute } from '../../texts/format.ts'
import { texts } from '../../texts/versions.tsx'
import { Time } from '../../ui/time.tsx'
import type { FileVersion } from './operations.ts'

/** Returns the time at which the content was stored, as the name of a version. */
export function nameOfVersion({ modifiedAt }: FileVersion): string {
  return modifiedAt === null ? texts.unknownTime : formatMinute(modifiedAt)
}

/** Says who replaced a version, and when. @param options.isDeleted whether the file does not exist any more */
export function Replaced({ version, isDeleted }: { version: FileVersion; isDeleted: boolean }) {
  const { replacedAt, replacedBy } = version
  if (replacedAt === null) return null
  const person = replacedBy && (replacedBy.name ?? replacedBy.email)
  return (isDeleted ? texts.replacedOrDeleted : texts.replaced)(<Time at={replacedAt} as="distance" />, person)
}

/** The versions of a file, the newest first. The arrow keys choose one. */
export function VersionList({
  label,
  versions,
  isDeleted,
  chosen,
  onChoose,
}: {
  label: string
  versions: readonly FileVersion[]
  isDeleted: boolean
  chosen: FileVersion
  onChoose: (id: string) => void
}) {
  return (
    <ListBox
      aria-label={label}
      className="version-list"
      selectionMode="single"
      selectionBehavior="replace"
      disallowEmptySelection
      selectedKeys={[chosen.id]}
      onSelectionChange={keys => {
        const [id] = keys === 'all' ? [] : keys
        if (id !== undefined) onChoose(String(id))
      }}
    >
      {versions.map(version => (
        <ListBoxItem key={version.id} id={version.id} textValue={nameOfVersion(version)} className="version-item">
          <span className="version-name">
            {nameOfVersion(version)}
            {version.isCurrent && <span className="badge">{texts.current}</span>}
          </span>
          <span className="help">
            {version.size !== null && formatBytes(version.size)}
            {version.size !== null && !version.isCurrent && ' · '}
            <Replaced version={version} isDeleted={isDeleted} />
          </span>
        </ListBoxItem>
      ))}
    </ListBox>
  )
}

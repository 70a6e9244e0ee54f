import { childPath, type StorageLocation } from '../../api/locations.ts'
import { texts } from '../../texts/files.tsx'
import { formatBytes, formatMinute } from '../../texts/format.ts'
import type { Entry } from '../operations.ts'

/** Shows the facts of a file that its listing contains. */
export function Information({ folder, entry }: { folder: StorageLocation; entry: Entry }) {
  const file = entry.__typename === 'File' ? entry : null
  const facts: [string, string | null][] = [
    [texts.name, entry.name],
    [texts.path, childPath(folder.path, entry.name)],
    [texts.modified, entry.modifiedAt && formatMinute(entry.modifiedAt)],
    [texts.size, file?.size == null ? null : texts.exactSize(formatBytes(file.size), file.size)],
    [texts.type, file?.mimeType ?? null],
  ]
  return (
    <aside className="preview-info" aria-label={texts.information}>
      <dl>
        {facts.map(
          ([title, text]) =>
            text !== null && (
              <div key={title}>
                <dt>{title}</dt>
                <dd>{text}</dd>
              </div>
            ),
        )}
      </dl>
    </aside>
  )
}

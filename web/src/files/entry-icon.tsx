import { Icon, type IconName } from '../ui/icons.tsx'
import { languageOf, previewKind, type TypedEntry } from './preview/file-types.ts'

/** Files whose media type is not known. */
const endings: readonly [pattern: RegExp, icon: IconName][] = [
  [/\.(?:jpe?g|png|gif|webp|avif|bmp)$/i, 'image'],
  [/\.(?:mp4|m4v|mov|webm|mkv)$/i, 'video'],
  [/\.(?:mp3|m4a|flac|ogg|opus|wav)$/i, 'audio'],
  [/\.pdf$/i, 'pdf'],
]

/** The icon of a file or folder, in the color of its type. */
export function EntryIcon({ entry }: { entry: TypedEntry }) {
  return (
    <span className="entry-icon">
      <Icon name={iconOf(entry)} />
    </span>
  )
}

function iconOf(entry: TypedEntry): IconName {
  const { name } = entry
  if (entry.__typename === 'Folder') return 'folder'
  const kind = previewKind(entry)
  if (kind === 'text') return isCode(name) ? 'code' : 'text'
  return kind ?? endings.find(([pattern]) => pattern.test(name))?.[1] ?? 'file'
}

function isCode(name: string): boolean {
  const language = languageOf(name)
  return language !== null && language !== 'markdown'
}

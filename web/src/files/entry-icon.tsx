import { useState } from 'react'
import { Icon, type IconName } from '../ui/icons.tsx'
import { languageOf, previewKind, type TypedEntry } from './preview/file-types.ts'
import { TurnImage } from './turn-image.tsx'

/** Files whose media type is not known. */
const endings: readonly [pattern: RegExp, icon: IconName][] = [
  [/\.(?:jpe?g|png|gif|webp|avif|bmp)$/i, 'image'],
  [/\.(?:mp4|m4v|mov|webm|mkv)$/i, 'video'],
  [/\.(?:mp3|m4a|flac|ogg|opus|wav)$/i, 'audio'],
  [/\.pdf$/i, 'pdf'],
]

/** The icon of a file or folder, in the color of its type, or its thumbnail as soon as that has arrived. */
export function EntryIcon({ entry, thumbnail = null }: { entry: TypedEntry; thumbnail?: string | null }) {
  return (
    <span className="entry-icon">
      {thumbnail === null ? <Icon name={iconOf(entry)} /> : <Thumbnail key={thumbnail} entry={entry} url={thumbnail} />}
    </span>
  )
}

/** The icon stays where the content has no thumbnail. */
function Thumbnail({ entry, url }: { entry: TypedEntry; url: string }) {
  const [state, setState] = useState<'loading' | 'loaded' | 'failed'>('loading')
  return (
    <>
      {state !== 'loaded' && <Icon name={iconOf(entry)} />}
      {state !== 'failed' && (
        <TurnImage
          src={url}
          alt=""
          className={state}
          onLoaded={() => setState('loaded')}
          onFailed={() => setState('failed')}
        />
      )}
    </>
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

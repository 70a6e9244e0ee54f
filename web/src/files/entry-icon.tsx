import { useState } from 'react'
import { type FileKind, KindIcon } from '../ui/kind-icon.tsx'
import { kindOf } from './kinds.ts'
import type { TypedEntry } from './preview/file-types.ts'
import { TurnImage } from './turn-image.tsx'
import './entry-icon.css'

/** The icon of a file or folder, in the color of its type, or its thumbnail as soon as that has arrived. */
export function EntryIcon({ entry, thumbnail = null }: { entry: TypedEntry; thumbnail?: string | null }) {
  return (
    <span className="entry-icon">
      {thumbnail === null ? (
        <KindIcon kind={kindOf(entry)} />
      ) : (
        <Thumbnail key={thumbnail} entry={entry} url={thumbnail} />
      )}
    </span>
  )
}

/** Kinds whose pictures are pages, which begin at the top. */
const pageKinds: ReadonlySet<FileKind> = new Set(['pdf', 'document', 'sheet', 'slides', 'text', 'code'])

/** The icon stays where the content has no thumbnail. */
function Thumbnail({ entry, url }: { entry: TypedEntry; url: string }) {
  const [state, setState] = useState<'loading' | 'loaded' | 'failed'>('loading')
  return (
    <>
      {state !== 'loaded' && <KindIcon kind={kindOf(entry)} />}
      {state !== 'failed' && (
        <TurnImage
          src={url}
          alt=""
          className={pageKinds.has(kindOf(entry)) ? `${state} page-picture` : state}
          onLoaded={() => setState('loaded')}
          onFailed={() => setState('failed')}
        />
      )}
    </>
  )
}

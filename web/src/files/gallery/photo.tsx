import { type MouseEvent, memo, useState } from 'react'
import { urlOf } from '../../api/client.ts'
import { common } from '../../texts/common.ts'
import { texts } from '../../texts/files.tsx'
import { Icon } from '../../ui/icons.tsx'
import { EntryIcon } from '../entry-icon.tsx'
import { type Entry, thumbnailOf } from '../operations.ts'
import { isTouch, pickModeOf, useLongPress } from '../pointer.ts'
import type { PickMode } from '../selection.ts'
import { TurnImage } from '../turn-image.tsx'
import type { GalleryItem } from './layout.ts'

/** Pixels. Larger thumbnails are recorded as downloads. */
const thumbnailPixels = 256

interface PhotoProps {
  entry: Entry
  item: GalleryItem
  height: number
  href: string
  isSelected: boolean
  isFocused: boolean
  /** Whether any entry is selected. A click then selects, too. */
  isSelecting: boolean
  onPick: (index: number, mode: PickMode) => void
  onOpen: (entry: Entry) => void
  onContextMenu: (index: number, event: MouseEvent) => void
  onLoaded: (entry: Entry, image: HTMLImageElement) => void
}

/** A folder or a photo of a gallery. Its controls are for the pointer only, because the gallery handles the keyboard. */
export const Photo = memo(function Photo(props: PhotoProps) {
  const { entry, item, height, href, isSelected, isFocused, isSelecting } = props
  const { onPick, onOpen, onContextMenu, onLoaded } = props
  const { index, left, width } = item
  const longPress = useLongPress(() => onPick(index, 'toggle'))
  const isFolder = entry.__typename === 'Folder'
  const open = (event: MouseEvent) => {
    event.preventDefault()
    const mode = isSelecting && pickModeOf(event) === 'only' ? 'toggle' : pickModeOf(event)
    onPick(index, mode === 'only' ? 'focus' : mode)
    if (mode === 'only') onOpen(entry)
  }
  return (
    // biome-ignore lint/a11y/useSemanticElements: a virtual gallery renders only its visible lines
    <div
      role="gridcell"
      id={`photo-${index}`}
      tabIndex={-1}
      aria-selected={isSelected}
      className={`photo${isFolder ? ' photo-folder' : ''}${isFocused ? ' focused' : ''}`}
      style={{ insetInlineStart: left, width, height }}
      {...longPress}
      onContextMenu={event => {
        if (isTouch(event)) longPress.onContextMenu(event)
        else onContextMenu(index, event)
      }}
    >
      <a href={urlOf(href)} tabIndex={-1} draggable={false} title={entry.name} onClick={open}>
        {isFolder ? <EntryIcon entry={entry} /> : <Picture entry={entry} onLoaded={onLoaded} />}
        <span className="photo-name" dir="auto">
          {entry.name}
        </span>
      </a>
      {isFolder && <span className="visually-hidden">, {texts.folder}</span>}
      <label className="photo-check">
        <input
          type="checkbox"
          tabIndex={-1}
          aria-label={common.actionOn(texts.select, entry.name)}
          checked={isSelected}
          onChange={({ nativeEvent }) =>
            onPick(index, nativeEvent instanceof PointerEvent && nativeEvent.shiftKey ? 'extend' : 'toggle')
          }
        />
      </label>
    </div>
  )
})

function Picture({ entry, onLoaded }: { entry: Entry; onLoaded: (entry: Entry, image: HTMLImageElement) => void }) {
  const [state, setState] = useState<'loading' | 'loaded' | 'failed'>('loading')
  const url = thumbnailOf(entry, thumbnailPixels)
  const isVideo = entry.__typename === 'File' && entry.mimeType?.startsWith('video/')
  return (
    <>
      {state !== 'loaded' && (
        <span className="photo-icon">
          <EntryIcon entry={entry} />
        </span>
      )}
      {url !== null && state !== 'failed' && (
        <TurnImage
          key={url}
          src={url}
          alt=""
          className={state}
          onLoaded={image => {
            setState('loaded')
            onLoaded(entry, image)
          }}
          onFailed={() => setState('failed')}
        />
      )}
      {isVideo && state === 'loaded' && (
        <span className="photo-video">
          <Icon name="play" />
        </span>
      )}
    </>
  )
}

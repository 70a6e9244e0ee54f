/**
 * Details of an entry, beside the list or in a dialog. It takes the selected entries, and shows their facts and
 * the forms that change them.
 */
import { type ComponentProps, useState } from 'react'
import { childPath } from '../../api/locations.ts'
import { texts } from '../../texts/files.tsx'
import { Icon } from '../../ui/icons.tsx'
import { EntryIcon } from '../entry-icon.tsx'
import { type Entry, thumbnailOf } from '../operations.ts'
import { EntryDetails } from './entry-details.tsx'

/** Pixels, for screens with two pixels for each of CSS. */
const previewPixels = 512

/** The details of what is selected, beside the list. A panel that stays open follows the selection. */
export function DetailsPanel({
  entries,
  onClose,
  ...details
}: Omit<ComponentProps<typeof EntryDetails>, 'entry' | 'href' | 'onLeave'> & {
  /** The selected entries. */
  entries: readonly Entry[]
  hrefOf: (entry: Entry) => string
  onClose: () => void
}) {
  const [entry, ...others] = entries
  const isSingle = entry !== undefined && others.length === 0
  return (
    <aside className="details-panel" aria-label={texts.details}>
      <div className="details-head">
        <h2 dir="auto">{isSingle ? entry.name : texts.details}</h2>
        <button type="button" className="icon-button" aria-label={texts.hideDetails} onClick={onClose}>
          <Icon name="cross" />
        </button>
      </div>
      {isSingle ? (
        <SingleEntry key={childPath(details.folder.path, entry.name)} entry={entry} {...details} />
      ) : (
        <div className="details-hint">
          <Icon name="info" />
          <p>{entries.length === 0 ? texts.selectForDetails : texts.selected(entries.length)}</p>
        </div>
      )}
    </aside>
  )
}

function SingleEntry({
  entry,
  hrefOf,
  ...details
}: Omit<ComponentProps<typeof DetailsPanel>, 'entries' | 'onClose'> & { entry: Entry }) {
  // A thumbnail of its own would load again with each change of the selection.
  const [thumbnail] = useState(() => thumbnailOf(entry, previewPixels))
  return (
    <>
      <div className="details-picture">
        <EntryIcon entry={entry} thumbnail={thumbnail} />
      </div>
      <EntryDetails {...details} entry={entry} href={hrefOf(entry)} onLeave={() => {}} />
    </>
  )
}

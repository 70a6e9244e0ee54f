import { Link } from 'react-router'
import { parentPath } from '../../api/locations.ts'
import { texts as searchTexts } from '../../texts/search.tsx'
import { Time } from '../../ui/time.tsx'
import { entryHref } from '../addresses.ts'
import { EntryIcon } from '../entry-icon.tsx'
import type { LocatedEntry } from '../operations.ts'
import { thumbnailOf } from '../operations.ts'
import './thumbnails.css'

/** Files as cards with their pictures. */
export function Thumbnails({ label, entries }: { label: string; entries: readonly LocatedEntry[] }) {
  return (
    <ul className="thumbnails" aria-label={label}>
      {entries.map(entry => (
        <li key={`${entry.providerId}${entry.path}`} className="thumbnail">
          <EntryIcon entry={entry} thumbnail={thumbnailOf(entry, 256)} />
          <div className="thumbnail-text">
            <Link to={entryHref(entry.providerId, entry)} title={entry.name} dir="auto">
              {entry.name}
            </Link>
            <span className="thumbnail-place">{searchTexts.in(entry.storage, parentPath(entry.path))}</span>
            {entry.modifiedAt && (
              <span className="thumbnail-place">
                <Time at={entry.modifiedAt} as="distance" />
              </span>
            )}
          </div>
        </li>
      ))}
    </ul>
  )
}

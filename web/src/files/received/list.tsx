import { Link } from 'react-router'
import { texts } from '../../texts/received.tsx'
import { Icon } from '../../ui/icons.tsx'
import { KindIcon } from '../../ui/kind-icon.tsx'
import { Time } from '../../ui/time.tsx'
import { kindOf } from '../kinds.ts'
import type { ReceivedShare } from './operations.ts'
import './received.css'

/** Files and folders that others share with the person. Each opens on its own page. */
export function ReceivedList({ label, shares }: { label: string; shares: readonly ReceivedShare[] }) {
  return (
    <ul className="received-list" aria-label={label}>
      {shares.map(share => (
        <Row key={share.id} share={share} />
      ))}
    </ul>
  )
}

function Row({
  share: { url, name, isFolder, sharedBy, note, hasPassword, expiresAt, createdAt },
}: {
  share: ReceivedShare
}) {
  const isSeveral = name === null
  const shown = name ?? texts.several
  const kind = kindOf({ __typename: isFolder || isSeveral ? 'Folder' : 'File', name: shown, mimeType: null })
  return (
    <li>
      <KindIcon kind={kind} />
      <div className="received-text">
        <Link to={pathOf(url)} title={shown} dir="auto">
          {shown}
        </Link>
        <span className="help">{texts.from(sharedBy)}</span>
        {note !== '' && (
          <span className="received-note" dir="auto">
            {note}
          </span>
        )}
      </div>
      <div className="received-times">
        <span>{texts.since(<Time at={createdAt} />)}</span>
        {expiresAt !== null && <span>{texts.until(<Time at={expiresAt} />)}</span>}
      </div>
      {hasPassword && (
        <span className="received-lock" title={texts.withPassword}>
          <Icon name="lock" />
          <span className="visually-hidden">{texts.withPassword}</span>
        </span>
      )}
    </li>
  )
}

/** The page of the share in this console, whose address may differ from the public one. */
function pathOf(url: string): string {
  return url.slice(url.lastIndexOf('/s/'))
}

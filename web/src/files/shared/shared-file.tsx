import { useQuery } from '@tanstack/react-query'
import { Link } from 'react-router'
import type { SharedFacts, ShareLink } from '../../api/client.ts'
import { common } from '../../texts/common.ts'
import { formatBytes, formatMinute } from '../../texts/format.ts'
import { texts } from '../../texts/shares.tsx'
import { ErrorBox } from '../../ui/error-box.tsx'
import { Icon } from '../../ui/icons.tsx'
import { Loading } from '../../ui/loading.tsx'
import { EntryIcon } from '../entry-icon.tsx'
import { kindOf } from '../kinds.ts'
import { viewerKind } from '../preview/file-types.ts'

/** Pixels of the picture on the card, and of that of a link whose downloads are limited. */
const [large, small] = [1024, 256]
/** The kinds of files of which every server makes pictures. */
const pictured: ReadonlySet<string> = new Set(['image', 'pdf'])

/** The page of a link to one file: a card with what it is, and one large button. */
export function SharedFile({ token, link, facts }: { token: string; link: ShareLink; facts: SharedFacts }) {
  const { data, error, refetch } = useQuery({
    queryKey: ['share', token, 'file'],
    queryFn: async ({ signal }) => {
      for await (const entry of link.list('/', { signal })) return entry
      return null
    },
  })
  if (error) return <ErrorBox error={error} retry={refetch} />
  if (data === undefined) return <Loading label={common.loading} />
  if (data === null) return <p className="notice">{texts.fileGone}</p>
  const { name, path, size, mimeType, modifiedAt } = data
  const isLimited = facts.downloadsLeft !== null
  const entry = { __typename: 'File', name, mimeType } as const
  const canView = !isLimited && viewerKind(entry) !== null
  const hasPicture = pictured.has(kindOf(entry))
  const about = [size === null ? null : formatBytes(size), modifiedAt && formatMinute(modifiedAt.toISOString())]
  return (
    <main className="shared-card">
      <div className="shared-picture">
        <EntryIcon entry={entry} thumbnail={hasPicture ? link.thumbnailUrl(path, isLimited ? small : large) : null} />
      </div>
      <div className="shared-facts">
        <h1>{name}</h1>
        <p className="help">{about.filter(each => each !== null).join(' · ')}</p>
        {facts.downloadsLeft !== null && <p className="help">{texts.downloadsLeft(facts.downloadsLeft)}</p>}
        <div className="shared-actions">
          <a className="button primary shared-download" href={link.contentUrl(path)} download={name}>
            <Icon name="download" />
            {texts.download}
          </a>
          {canView && (
            <Link className="button" to={`/s/${token}?${new URLSearchParams({ file: name })}`}>
              {texts.view}
            </Link>
          )}
        </div>
      </div>
    </main>
  )
}

import { useQuery } from '@tanstack/react-query'
import { type ReactNode, Suspense, useState } from 'react'
import { Link } from 'react-router'
import { childPath, type StorageLocation } from '../../api/locations.ts'
import { usePermissions } from '../../api/session.ts'
import { lazyPart } from '../../lib/load-part.ts'
import { texts as auditTexts } from '../../texts/audit.ts'
import { common } from '../../texts/common.ts'
import { texts } from '../../texts/files.tsx'
import { formatBytes, formatMinute } from '../../texts/format.ts'
import { texts as quotaTexts } from '../../texts/quotas.ts'
import { Button } from '../../ui/button.tsx'
import { CopyButton } from '../../ui/copy-button.tsx'
import { ErrorBox } from '../../ui/error-box.tsx'
import { Loading } from '../../ui/loading.tsx'
import { QuotaBars, type QuotaUsage } from '../../ui/quota-bars.tsx'
import { QuotaDialog } from '../../ui/quota-dialog.tsx'
import { Marks } from '../marks/entry-marks.tsx'
import { type Entry, folderUsage } from '../operations.ts'
import { Protection } from '../protection.tsx'
import { PeopleWithAccess } from './access.tsx'
import { EntryActivity } from './activity.tsx'
import './details.css'
import { ask } from '../../api/client.ts'
import { graphql, type ResultOf } from '../../api/graphql.ts'

const Comments = lazyPart(async () => (await import('../comments/comments.tsx')).Comments)

/** The known facts about an entry. The dialog and the panel show it. */
export function EntryDetails({
  folder,
  entry,
  storage,
  href,
  onVersions,
  onLeave,
}: {
  folder: StorageLocation
  entry: Entry
  /** The name of the storage. */
  storage: string
  /** The address of the entry in the console. */
  href: string
  onVersions: () => void
  /** Called when the person goes to another page. */
  onLeave: () => void
}) {
  const { isAdmin, isUnrestricted } = usePermissions()
  const location = { ...folder, path: childPath(folder.path, entry.name) }
  const isFolder = entry.__typename === 'Folder'
  const link = globalThis.location.origin + href
  const { data, error, refetch } = useQuery({
    queryKey: ['details', location],
    queryFn: ({ signal }) => entryDetails(location, signal),
    gcTime: 0,
  })
  return (
    <div className="details">
      <dl className="details-facts">
        <Fact title={texts.storage}>{storage}</Fact>
        <Fact title={texts.path} copy={<CopyButton text={location.path} label={texts.copyPath} />}>
          <span className="mono">{location.path}</span>
        </Fact>
        <Fact title={texts.link} copy={<CopyButton text={link} label={texts.copyLink} />}>
          {texts.linkHelp}
        </Fact>
        {data && <FileFacts details={data} />}
        {data && <Marks folder={folder} entry={entry} marks={data} />}
        {data && <Protection location={location} lock={data.lock} hold={data.hold} onChange={() => void refetch()} />}
        {!isFolder && (
          <Fact title={texts.versions} copy={<Button onPress={onVersions}>{texts.showVersions}</Button>}>
            {texts.versionsHelp}
          </Fact>
        )}
        {isFolder && <FolderFacts folder={location} />}
        {data?.__typename === 'Folder' && (
          <FolderQuota name={entry.name} folder={location} quota={data.quotaRule} onChange={refetch} />
        )}
      </dl>
      {error && <ErrorBox error={error} retry={refetch} />}
      {!data && !error && <Loading label={common.loading} />}
      <Suspense>
        <Comments location={location} />
      </Suspense>
      {isUnrestricted && <PeopleWithAccess location={location} onLeave={onLeave} />}
      {isAdmin ? <History location={location} onLeave={onLeave} /> : <EntryActivity location={location} />}
    </div>
  )
}

function Fact({ title, copy, children }: { title: string; copy?: ReactNode; children: ReactNode }) {
  return (
    <div className="details-fact">
      <dt>{title}</dt>
      <dd>
        <span>{children}</span>
        {copy}
      </dd>
    </div>
  )
}

function FileFacts({ details }: { details: EntryFacts }) {
  const { modifiedAt } = details
  const modified = modifiedAt && <Fact title={texts.modified}>{formatMinute(modifiedAt)}</Fact>
  if (details.__typename !== 'File') return modified
  const { size, mimeType, etag, checksums } = details
  return (
    <>
      {modified}
      {mimeType && <Fact title={texts.type}>{mimeType}</Fact>}
      {size !== null && <Fact title={texts.size}>{texts.exactSize(formatBytes(size), size)}</Fact>}
      {etag && (
        <Fact title={texts.version}>
          <span className="mono">{etag}</span>
        </Fact>
      )}
      {checksums.map(({ algorithm, hex }) => (
        <Fact key={algorithm} title={algorithm.toUpperCase()} copy={<CopyButton text={hex} label={texts.copyHash} />}>
          <span className="mono">{hex}</span>
        </Fact>
      ))}
    </>
  )
}

function FolderFacts({ folder }: { folder: StorageLocation }) {
  const { data, error } = useQuery({
    queryKey: ['usage', folder],
    queryFn: ({ signal }) => folderUsage(folder, signal),
    gcTime: 0,
  })
  return <Fact title={texts.contents}>{error ? texts.usageUnknown : data ? texts.usage(data) : texts.counting}</Fact>
}

/** Shows the quota of a folder, and the button that sets it. */
function FolderQuota({
  name,
  folder,
  quota,
  onChange,
}: {
  name: string
  folder: StorageLocation
  quota: QuotaUsage | null
  onChange: () => Promise<unknown>
}) {
  const { isUnrestricted } = usePermissions()
  const [isOpen, setIsOpen] = useState(false)
  if (!quota && !isUnrestricted) return null
  const action = isUnrestricted && <Button onPress={() => setIsOpen(true)}>{quotaTexts.setQuota}</Button>
  return (
    <Fact title={quotaTexts.quota} copy={action}>
      {quota ? <QuotaBars quota={quota} /> : quotaTexts.noQuota}
      {isOpen && (
        <QuotaDialog name={name} subject={folder} quota={quota} onSaved={onChange} onClose={() => setIsOpen(false)} />
      )}
    </Fact>
  )
}

function History({ location, onLeave }: { location: StorageLocation; onLeave: () => void }) {
  const { data, error, refetch } = useQuery({
    queryKey: ['history', location],
    queryFn: ({ signal }) => entryHistory(location, signal),
    gcTime: 0,
  })
  const search = new URLSearchParams({ providerId: location.providerId, path: location.path })
  return (
    <section aria-label={texts.history}>
      <h3>{texts.history}</h3>
      {error && <ErrorBox error={error} retry={refetch} />}
      {!data && !error && <Loading label={common.loading} />}
      {data?.length === 0 && <p className="help">{texts.noHistory}</p>}
      {data && data.length > 0 && (
        <>
          <ul className="history">
            {data.map(event => (
              <li key={event.id}>
                <span>{describeEvent(event)}</span>
                <time dateTime={event.at}>{formatMinute(event.at)}</time>
              </li>
            ))}
          </ul>
          <Link to={`/settings/audit?${search}`} onClick={onLeave}>
            {texts.allHistory}
          </Link>
        </>
      )}
    </section>
  )
}

function describeEvent({ action, result, userName, userEmail, toPath }: HistoryEvent): string {
  const who = userName ?? userEmail ?? auditTexts.server
  const what = auditTexts.actions[action] + (toPath === null ? '' : ` → ${toPath}`)
  return texts.event(who, what, result === 'OK' ? null : result)
}

const DetailsQuery = graphql(`
  query EntryDetails($providerId: ID!, $path: String!) {
    entry(providerId: $providerId, path: $path) {
      __typename
      modifiedAt
      lock { id path holderName holder { id } expiresAt }
      hold { id path until reason isObjectLock }
      isStarred
      tags
      ... on File { size mimeType etag checksums { algorithm hex } }
      ... on Folder { quotaRule { bytes files usedBytes usedFiles isExact } }
    }
  }
`)

const HistoryQuery = graphql(`
  query EntryHistory($filter: AuditEventFilter!) {
    auditEvents(first: 20, filter: $filter) {
      nodes { id at action result userName userEmail address toPath }
    }
  }
`)

type EntryFacts = ResultOf<typeof DetailsQuery>['entry']
type HistoryEvent = ResultOf<typeof HistoryQuery>['auditEvents']['nodes'][number]

/** @throws StowageError */
async function entryDetails(entry: StorageLocation, signal: AbortSignal): Promise<EntryFacts> {
  return (await ask(DetailsQuery, { ...entry }, { signal })).entry
}

/** Returns the latest events at an entry and below it. Only administrators may read them. @throws StowageError */
async function entryHistory(
  { providerId, path }: StorageLocation,
  signal: AbortSignal,
): Promise<readonly HistoryEvent[]> {
  const filter = { providerId, pathPrefix: path }
  return (await ask(HistoryQuery, { filter }, { signal })).auditEvents.nodes
}

/** Shows what takes up space: folders as a treemap, and the files that are worth a look. */
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Link, useLocation, useParams } from 'react-router'
import { ancestors, nameOfPath, storageAt } from '../../api/locations.ts'
import { texts } from '../../texts/insight.ts'
import { Choices } from '../../ui/choices.tsx'
import { ErrorBox } from '../../ui/error-box.tsx'
import { Icon } from '../../ui/icons.tsx'
import { LoadState } from '../../ui/loading.tsx'
import { PageTitle } from '../../ui/page.tsx'
import { ShowMore, usePages } from '../../ui/pages.tsx'
import { folderHref, insightHref, pathOfHref } from '../addresses.ts'
import { EntryList } from '../entry-list/list.tsx'
import { useReload } from '../entry-list/use-reload.ts'
import { useProviders } from '../listing.ts'
import type { Provider } from '../operations.ts'
import { Comparison } from './comparison.tsx'
import { duplicates, type Rank, rankedFiles, storageUsage, toEntry, type Usage, type Within } from './operations.ts'
import { Treemap } from './treemap.tsx'
import './insight.css'

type List = Rank | 'DUPLICATES'

const lists = (Object.keys(texts.lists) as List[]).map(value => ({ value, title: texts.lists[value] }))

export function InsightPage() {
  const { providerId } = useParams()
  const { pathname } = useLocation()
  const { data: providers } = useProviders()
  const path = pathOfHref(pathname) ?? '/'
  const provider = providerId === undefined ? undefined : providers && storageAt(providers, { providerId, path })
  const within: Within = providerId === undefined ? null : { providerId, path }
  const name = path === '/' ? (provider?.name ?? texts.allStorages) : nameOfPath(path)
  const [list, setList] = useState<List>('LARGEST')
  const reload = useReload('insight')
  return (
    <main className="page insight">
      <PageTitle>{texts.title(name)}</PageTitle>
      <Trail provider={provider} path={path} />
      <Overview key={pathname} within={within} />
      <section aria-label={texts.files}>
        <Choices label={texts.files} layout="row" choices={lists} value={list} onChange={setList} />
        {list === 'DUPLICATES' ? (
          <Duplicates key={providerId ?? ''} provider={provider} providerId={providerId ?? null} onChanged={reload} />
        ) : (
          <Ranked key={`${list} ${pathname}`} within={within} rank={list} onChanged={reload} />
        )}
      </section>
    </main>
  )
}

function Trail({ provider, path }: { provider: Provider | undefined; path: string }) {
  const steps = provider
    ? [{ name: provider.name, path: provider.root.path }, ...ancestors(path, provider.root.path)]
    : []
  return (
    <nav aria-label={texts.path} className="breadcrumb">
      <ol>
        <li>
          {provider ? <Link to="/insight">{texts.allStorages}</Link> : <h1 aria-current="page">{texts.insight}</h1>}
        </li>
        {provider &&
          steps.map((step, index) => (
            <li key={step.path}>
              {index === steps.length - 1 ? (
                <h1 aria-current="page" dir="auto">
                  {step.name}
                </h1>
              ) : (
                <Link to={insightHref({ providerId: provider.id, path: step.path })} dir="auto">
                  {step.name}
                </Link>
              )}
            </li>
          ))}
      </ol>
    </nav>
  )
}

function Overview({ within }: { within: Within }) {
  const query = useQuery({
    queryKey: ['insight', 'usage', within],
    queryFn: ({ signal }) => storageUsage(within, signal),
    staleTime: 30_000,
  })
  const { data } = query
  if (!data) return <LoadState query={query} label={texts.loading} />
  return (
    <>
      <p className="insight-sum" role="status">
        {texts.sum(data.files, data.bytes)}
      </p>
      {!data.isComplete && <p className="notice">{texts.incomplete}</p>}
      {data.files === 0 ? (
        <div className="empty">
          <Icon name="chart" />
          <p className="empty-title">{texts.nothing}</p>
          <p>{texts.nothingHelp}</p>
        </div>
      ) : (
        data.bytes > 0 && <Treemap parts={partsOf(data, within)} total={data.bytes} />
      )}
    </>
  )
}

function partsOf({ parts, directFiles, directBytes }: Usage, within: Within) {
  const folders = parts.map(({ provider, path, bytes }) => ({
    key: `${provider.id}${path}`,
    name: within !== null ? nameOfPath(path) : path === '/' ? provider.name : `${provider.name} ${path}`,
    bytes,
    href: insightHref({ providerId: provider.id, path }),
  }))
  if (within === null) return folders
  const direct = {
    key: 'direct',
    name: texts.direct(directFiles),
    bytes: directBytes,
    href: folderHref(within.providerId, within.path),
  }
  return [...folders, direct]
}

function Ranked({ within, rank, onChanged }: { within: Within; rank: Rank; onChanged: () => void }) {
  const query = useQuery({
    queryKey: ['insight', rank, within],
    queryFn: ({ signal }) => rankedFiles(within, rank, signal),
    staleTime: 30_000,
  })
  const { data } = query
  if (!data) return <LoadState query={query} label={texts.loadingFiles} />
  if (data.length === 0) return <p className="help">{texts.noFiles}</p>
  const label = rank === 'LARGEST' ? texts.largest : texts.oldest
  return <EntryList label={label} entries={data} onChanged={onChanged} />
}

function Duplicates({
  provider,
  providerId,
  onChanged,
}: {
  provider: Provider | undefined
  providerId: string | null
  onChanged: () => void
}) {
  const { data: providers = [] } = useProviders()
  const compared = providers.filter(({ id }) => providerId === null || id === providerId)
  const { query, nodes } = usePages(['insight', 'duplicates', providerId], (after, signal) =>
    duplicates(providerId, after, signal),
  )
  return (
    <>
      <p className="help">
        {provider && `${texts.wholeStorage(provider.name)} `}
        {texts.duplicatesHelp}
      </p>
      <Comparison providers={compared} />
      {query.error && nodes && <ErrorBox error={query.error} retry={query.refetch} />}
      {!nodes && <LoadState query={query} label={texts.loadingFiles} />}
      {nodes?.length === 0 && !query.hasNextPage && (
        <div className="empty">
          <p className="empty-title">{texts.noDuplicates}</p>
        </div>
      )}
      {nodes?.map(({ size, checksum, files }) => {
        const title = checksum ? texts.copies(files.length, size) : texts.sameSize(files.length, size)
        const [first] = files
        return (
          <section
            key={`${size} ${checksum?.hex ?? ''} ${first?.provider.id}${first?.file.path}`}
            className="copies"
            aria-label={title}
          >
            <h2>{title}</h2>
            <EntryList label={title} entries={files.map(toEntry)} onChanged={onChanged} />
          </section>
        )
      })}
      <ShowMore query={query} />
    </>
  )
}

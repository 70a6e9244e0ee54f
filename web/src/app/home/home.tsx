/**
 * The first page. It shows the storages, what has a star, what others share, the files that changed last, the jobs that run, and what the
 * team changed.
 */
import { Suspense } from 'react'
import { usePermissions, useSession } from '../../api/session.ts'
import { useProviders } from '../../files/listing.ts'
import { useNewestStars } from '../../files/marks/operations.ts'
import { ReceivedList } from '../../files/received/list.tsx'
import { useNewestReceived } from '../../files/received/operations.ts'
import { useNewestFiles } from '../../files/recent/operations.ts'
import { Thumbnails } from '../../files/recent/thumbnails.tsx'
import { lazyPart } from '../../lib/load-part.ts'
import { texts as fileTexts } from '../../texts/files.tsx'
import { texts } from '../../texts/home.tsx'
import { texts as markTexts } from '../../texts/marks.ts'
import { texts as receivedTexts } from '../../texts/received.tsx'
import { ErrorBox } from '../../ui/error-box.tsx'
import { Icon } from '../../ui/icons.tsx'
import { PageTitle } from '../../ui/page.tsx'
import { useIsStart } from './is-start.ts'
import { RunningJobs } from './running-jobs.tsx'
import { SectionHead } from './section-head.tsx'
import { StorageCards } from './storage-cards.tsx'
import { TeamChanges } from './team-changes.tsx'
import './home.css'

const FirstSteps = lazyPart(async () => (await import('./first-steps.tsx')).FirstSteps)

/** The number of recent files, which fill two lines of a wide window. */
const recentCount = 10
/** The number of entries with a star, which fill one line. */
const starredCount = 5
/** The number of shares of others. */
const receivedCount = 4

export function Home() {
  const { user } = useSession().viewer
  const { canWrite, isAdmin, isUnrestricted } = usePermissions()
  const { data: providers, error, refetch } = useProviders()
  const { data: recent } = useNewestFiles(recentCount)
  const { data: starred } = useNewestStars(starredCount)
  const { data: received } = useNewestReceived(receivedCount)
  const isStart = useIsStart(providers)
  return (
    <main className="page home">
      <PageTitle>{texts.home}</PageTitle>
      <div className="page-head">
        <h1>{user.name === null ? texts.greetingWithoutName : texts.greeting(user.name)}</h1>
      </div>
      {error && <ErrorBox error={error} retry={refetch} />}
      <Suspense>{isStart && <FirstSteps provider={providers?.[0] ?? null} />}</Suspense>
      {providers?.length === 0 && !isUnrestricted && received?.length === 0 && (
        <div className="empty">
          <Icon name="drive" />
          <p>{fileTexts.noAccess}</p>
        </div>
      )}
      {(!providers || providers.length > 0) && <StorageCards providers={providers} />}
      {canWrite && <RunningJobs />}
      {starred && starred.length > 0 && (
        <section aria-labelledby="starred-entries">
          <SectionHead id="starred-entries" title={markTexts.starred} href="/starred" link={markTexts.allStarred} />
          <Thumbnails label={markTexts.starred} entries={starred} />
        </section>
      )}
      {received && received.length > 0 && (
        <section aria-labelledby="received-shares">
          <SectionHead
            id="received-shares"
            title={receivedTexts.title}
            href="/shared-with-me"
            link={receivedTexts.all}
          />
          <ReceivedList label={receivedTexts.title} shares={received} />
        </section>
      )}
      {recent && recent.length > 0 && (
        <section aria-labelledby="recent-files">
          <SectionHead id="recent-files" title={texts.recent} href="/recent" link={texts.allRecent} />
          <Thumbnails label={texts.recent} entries={recent} />
        </section>
      )}
      <TeamChanges isAdmin={isAdmin} />
    </main>
  )
}

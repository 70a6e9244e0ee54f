/** The page of what others share with the person, and the list that the first page shows, too. */
import { queryKeys } from '../../api/query-keys.ts'
import { texts } from '../../texts/received.tsx'
import { Icon } from '../../ui/icons.tsx'
import { LoadState } from '../../ui/loading.tsx'
import { PageHead } from '../../ui/page.tsx'
import { ShowMore, usePages } from '../../ui/pages.tsx'
import { ReceivedList } from './list.tsx'
import { listReceived, receivedInterval, useReceivedInSight } from './operations.ts'

const pageSize = 50

export function ReceivedPage() {
  useReceivedInSight()
  const { query, nodes } = usePages(
    [...queryKeys.received, 'list'],
    (after, signal) => listReceived(pageSize, after, signal),
    receivedInterval,
  )
  return (
    <main className="page">
      <PageHead title={texts.title} />
      <LoadState query={query} label={texts.loading} />
      {nodes?.length === 0 && (
        <div className="empty">
          <Icon name="people" />
          <p className="empty-title">{texts.none}</p>
          <p>{texts.noneHelp}</p>
        </div>
      )}
      {nodes && nodes.length > 0 && <ReceivedList label={texts.title} shares={nodes} />}
      <ShowMore query={query} />
    </main>
  )
}

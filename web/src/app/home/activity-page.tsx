/** The page of all changes where the person may read. */
import { queryKeys } from '../../api/query-keys.ts'
import { common } from '../../texts/common.ts'
import { texts } from '../../texts/home.tsx'
import { ErrorBox } from '../../ui/error-box.tsx'
import { Icon } from '../../ui/icons.tsx'
import { Loading } from '../../ui/loading.tsx'
import { PageHead } from '../../ui/page.tsx'
import { ShowMore, usePages } from '../../ui/pages.tsx'
import { listActivity, toTeamChange } from './activity.ts'
import { ChangeList, groupChanges } from './change-list.tsx'
import './home.css'

const pageSize = 50

export function ActivityPage() {
  const { query, nodes } = usePages([...queryKeys.auditEvents, 'activity'], (after, signal) =>
    listActivity({ first: pageSize, after }, signal),
  )
  return (
    <main className="page">
      <PageHead title={texts.activity} />
      {query.error && <ErrorBox error={query.error} retry={query.refetch} />}
      {query.isPending && <Loading label={common.loading} />}
      {nodes?.length === 0 && (
        <div className="empty">
          <Icon name="activity" />
          <p className="empty-title">{texts.noActivity}</p>
        </div>
      )}
      {nodes && nodes.length > 0 && <ChangeList groups={groupChanges(nodes.map(toTeamChange))} />}
      <ShowMore query={query} />
    </main>
  )
}

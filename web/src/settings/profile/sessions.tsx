import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { graphql, type ResultOf } from '../../api/graphql.ts'
import { queryKeys } from '../../api/query-keys.ts'
import { ask } from '../../api/request.ts'
import { common } from '../../texts/common.ts'
import { formatMinute } from '../../texts/format.ts'
import { texts } from '../../texts/settings.tsx'
import { Button } from '../../ui/button.tsx'
import { Confirm } from '../../ui/confirm.tsx'
import { ErrorBox } from '../../ui/error-box.tsx'
import { Loading } from '../../ui/loading.tsx'
import { RowTable } from '../../ui/row-table.tsx'
import { Time } from '../../ui/time.tsx'

const SessionsQuery = graphql(`
  query Sessions {
    sessions { id createdAt expiresAt current }
  }
`)

const RevokeSessionMutation = graphql(`
  mutation RevokeSession($id: ID!) {
    revokeSession(id: $id)
  }
`)

type OpenSession = ResultOf<typeof SessionsQuery>['sessions'][number]

export function Sessions() {
  const client = useQueryClient()
  const { data, error, refetch } = useQuery({
    queryKey: queryKeys.sessions,
    queryFn: ({ signal }) => ask(SessionsQuery, {}, { signal }),
  })
  const [ending, setEnding] = useState<OpenSession | null>(null)
  return (
    <>
      {error && <ErrorBox error={error} retry={refetch} />}
      {!error && !data && <Loading label={texts.loadingSessions} />}
      {data && (
        <RowTable label={texts.sessions} columns={[texts.signedIn, common.expires]}>
          {data.sessions.map(session => (
            <Row key={session.id} session={session} onEnd={() => setEnding(session)} />
          ))}
        </RowTable>
      )}
      {ending && (
        <Confirm
          title={texts.endSessionTitle}
          action={texts.endSession}
          onConfirm={async () => {
            await ask(RevokeSessionMutation, { id: ending.id })
            await client.invalidateQueries({ queryKey: queryKeys.sessions })
          }}
          onClose={() => setEnding(null)}
        >
          <p>{texts.endSessionHelp(formatMinute(ending.createdAt))}</p>
        </Confirm>
      )}
    </>
  )
}

function Row({ session, onEnd }: { session: OpenSession; onEnd: () => void }) {
  const { id, createdAt, expiresAt, current } = session
  const timeId = `session-${id}`
  return (
    <tr>
      <td className="main-cell">
        <span id={timeId}>{formatMinute(createdAt)}</span>
      </td>
      <td data-label={common.expires}>
        <Time at={expiresAt} as="distance" />
      </td>
      <td className="actions-cell">
        <div className="actions">
          {current ? (
            <span className="badge good">{texts.thisBrowser}</span>
          ) : (
            <Button variant="danger" onPress={onEnd} aria-describedby={timeId}>
              {texts.endSession}
            </Button>
          )}
        </div>
      </td>
    </tr>
  )
}

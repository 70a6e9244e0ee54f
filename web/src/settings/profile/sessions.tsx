import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { graphql, type ResultOf } from '../../api/graphql.ts'
import { queryKeys } from '../../api/query-keys.ts'
import { ask } from '../../api/request.ts'
import { Button } from '../../ui/button.tsx'
import { Confirm } from '../../ui/confirm.tsx'
import { ErrorBox } from '../../ui/error-box.tsx'
import { formatMinute } from '../../ui/format.ts'
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
      {!error && !data && <Loading label="Loading the sessions" />}
      {data && (
        <RowTable label="Sessions" columns={['Signed in', 'Expires']}>
          {data.sessions.map(session => (
            <Row key={session.id} session={session} onEnd={() => setEnding(session)} />
          ))}
        </RowTable>
      )}
      {ending && (
        <Confirm
          title="End this session?"
          action="End session"
          onConfirm={async () => {
            await ask(RevokeSessionMutation, { id: ending.id })
            await client.invalidateQueries({ queryKey: queryKeys.sessions })
          }}
          onClose={() => setEnding(null)}
        >
          <p>
            The browser that signed in on {formatMinute(ending.createdAt)} has to sign in again. API keys are not
            affected.
          </p>
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
      <td data-label="Expires">
        <Time at={expiresAt} as="distance" />
      </td>
      <td className="actions-cell">
        <div className="actions">
          {current ? (
            <span className="badge good">This browser</span>
          ) : (
            <Button variant="danger" onPress={onEnd} aria-describedby={timeId}>
              End session
            </Button>
          )}
        </div>
      </td>
    </tr>
  )
}

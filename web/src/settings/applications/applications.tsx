/** The applications that the viewer has connected. */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { ask } from '../../api/client.ts'
import { graphql, type ResultOf } from '../../api/graphql.ts'
import { queryKeys } from '../../api/query-keys.ts'
import { texts } from '../../texts/applications.tsx'
import { common } from '../../texts/common.ts'
import { texts as settingsTexts } from '../../texts/settings.tsx'
import { Button } from '../../ui/button.tsx'
import { Confirm } from '../../ui/dialog.tsx'
import { LoadState } from '../../ui/loading.tsx'
import { RowTable } from '../../ui/row-table.tsx'
import { Time } from '../../ui/time.tsx'
import { AccessSummary, scopeChoices } from '../access/access.tsx'

const ApplicationsQuery = graphql(`
  query Applications {
    apiKeys(first: 100, includeInactive: false, connections: true) {
      nodes {
        id name scopes lastUsedAt expiresAt application { destination isConnected }
        providerAccess { all restrictions { basePath provider { id name } } }
      }
    }
  }
`)

const RevokeApplicationMutation = graphql(`
  mutation RevokeApplication($id: ID!) {
    revokeApiKey(id: $id) { id }
  }
`)

type Application = ResultOf<typeof ApplicationsQuery>['apiKeys']['nodes'][number]

export function Applications() {
  const client = useQueryClient()
  const query = useQuery({
    queryKey: [...queryKeys.apiKeys, 'connections'],
    queryFn: ({ signal }) => ask(ApplicationsQuery, {}, { signal }),
  })
  const [revoking, setRevoking] = useState<Application | null>(null)
  const applications = query.data?.apiKeys.nodes
  return (
    <>
      <h2>{texts.applications}</h2>
      <p className="help">{texts.applicationsHelp}</p>
      <LoadState query={query} label={texts.loading} />
      {applications?.length === 0 && <p className="empty">{texts.none}</p>}
      {applications && applications.length > 0 && (
        <RowTable
          label={texts.applications}
          columns={[texts.application, common.permission, common.access, common.expires]}
        >
          {applications.map(each => (
            <Row key={each.id} connection={each} onRevoke={() => setRevoking(each)} />
          ))}
        </RowTable>
      )}
      {revoking && (
        <Confirm
          title={common.revokeTitle(revoking.name)}
          action={common.revoke}
          onConfirm={async () => {
            await ask(RevokeApplicationMutation, { id: revoking.id })
            await client.invalidateQueries({ queryKey: queryKeys.apiKeys })
          }}
          onClose={() => setRevoking(null)}
        >
          <p>{texts.revokeHelp}</p>
        </Confirm>
      )}
    </>
  )
}

function Row({ connection, onRevoke }: { connection: Application; onRevoke: () => void }) {
  const { id, name, scopes, lastUsedAt, expiresAt, application, providerAccess } = connection
  const nameId = `application-${id}`
  return (
    <tr>
      <td id={nameId}>
        <div className="main-cell">{name}</div>
        <div className="help">
          {application?.isConnected === false
            ? texts.unfinished
            : lastUsedAt
              ? settingsTexts.keyUsed(<Time at={lastUsedAt} as="distance" />)
              : settingsTexts.keyNeverUsed}
        </div>
      </td>
      <td data-label={common.permission}>{scopeChoices.findLast(({ value }) => scopes.includes(value))?.title}</td>
      <td data-label={common.access}>
        <AccessSummary access={providerAccess} />
      </td>
      <td data-label={common.expires}>{expiresAt && <Time at={expiresAt} />}</td>
      <td className="actions-cell">
        <div className="actions">
          <Button variant="danger" onPress={onRevoke} aria-describedby={nameId}>
            {common.revoke}
          </Button>
        </div>
      </td>
    </tr>
  )
}

/** The accounts at issuers with which the viewer signs in. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useLocation, useNavigate } from 'react-router'
import { ask } from '../api/client.ts'
import { graphql, type ResultOf } from '../api/graphql.ts'
import { issuerIn, ticketIn } from '../api/link-tickets.ts'
import { queryKeys } from '../api/query-keys.ts'
import { installation } from '../api/session.ts'
import { common } from '../texts/common.ts'
import { texts } from '../texts/identities.ts'
import { Button } from '../ui/button.tsx'
import { Confirm } from '../ui/dialog.tsx'
import { ErrorBox } from '../ui/error-box.tsx'
import { LoadState } from '../ui/loading.tsx'
import { RowTable } from '../ui/row-table.tsx'
import { Time } from '../ui/time.tsx'

const IdentitiesQuery = graphql(`
  query Identities {
    identities { id issuer email createdAt lastUsedAt }
  }
`)

const IdentityLinkUrlQuery = graphql(`
  query IdentityLinkUrl($issuer: ID) { identityLinkUrl(issuer: $issuer) }
`)

const LinkIdentityMutation = graphql(`
  mutation LinkIdentity($ticket: String!) {
    linkIdentity(ticket: $ticket) { id }
  }
`)

const UnlinkIdentityMutation = graphql(`
  mutation UnlinkIdentity($id: ID!) {
    unlinkIdentity(id: $id)
  }
`)

type LinkedIdentity = ResultOf<typeof IdentitiesQuery>['identities'][number]

/** Shows nothing on a server without single sign-on. */
export function Identities() {
  const { data } = useQuery({ queryKey: queryKeys.installation, queryFn: installation })
  const issuers = data?.singleSignOn ?? []
  return issuers.length > 0 ? <LinkedAccounts issuers={issuers} /> : null
}

function LinkedAccounts({ issuers }: { issuers: readonly { id: string; name: string }[] }) {
  const client = useQueryClient()
  const { hash } = useLocation()
  const navigate = useNavigate()
  const query = useQuery({
    queryKey: queryKeys.identities,
    queryFn: ({ signal }) => ask(IdentitiesQuery, {}, { signal }),
  })
  const [removing, setRemoving] = useState<LinkedIdentity | null>(null)
  const reload = () => client.invalidateQueries({ queryKey: queryKeys.identities })
  const start = useMutation({
    mutationFn: async (issuer: string) => {
      const { identityLinkUrl } = await ask(IdentityLinkUrlQuery, { issuer })
      location.assign(identityLinkUrl)
    },
  })
  const identities = query.data?.identities
  const ticket = ticketIn(hash)
  const linked = issuers.find(({ id }) => id === issuerIn(ticket))?.name ?? texts.theIssuer
  return (
    <>
      <h2>{texts.linkedAccounts}</h2>
      <p className="help">{texts.linkedAccountsHelp}</p>
      <LoadState query={query} label={texts.loading} />
      {identities && identities.length > 0 && (
        <RowTable label={texts.linkedAccounts} columns={[texts.account, texts.linked, texts.lastUsed]}>
          {identities.map(identity => (
            <Row key={identity.id} identity={identity} onRemove={() => setRemoving(identity)} />
          ))}
        </RowTable>
      )}
      {start.error && <ErrorBox error={start.error} />}
      <div className="inline-row">
        {issuers.map(({ id, name }) => (
          <Button
            key={id}
            onPress={() => start.mutate(id)}
            isPending={start.isPending && start.variables === id}
            isDisabled={start.isPending}
          >
            {texts.linkAccount(name)}
          </Button>
        ))}
      </div>
      {ticket !== null && (
        <Confirm
          title={texts.linkTitle(linked)}
          action={texts.link}
          onConfirm={async () => {
            await ask(LinkIdentityMutation, { ticket })
            await reload()
          }}
          onClose={() => void navigate('/settings/profile', { replace: true })}
        >
          <p>{texts.linkHelp(linked)}</p>
        </Confirm>
      )}
      {removing && (
        <Confirm
          title={texts.removeTitle(removing.email ?? hostOf(removing.issuer))}
          action={common.remove}
          onConfirm={async () => {
            await ask(UnlinkIdentityMutation, { id: removing.id })
            await reload()
          }}
          onClose={() => setRemoving(null)}
        >
          <p>{texts.removeHelp}</p>
        </Confirm>
      )}
    </>
  )
}

function Row({ identity, onRemove }: { identity: LinkedIdentity; onRemove: () => void }) {
  const { id, issuer, email, createdAt, lastUsedAt } = identity
  const nameId = `identity-${id}`
  return (
    <tr>
      <td id={nameId} className="person-cell">
        <div className="main-cell">{email ?? hostOf(issuer)}</div>
        {email !== null && <div className="help">{hostOf(issuer)}</div>}
      </td>
      <td data-label={texts.linked}>
        <Time at={createdAt} />
      </td>
      <td data-label={texts.lastUsed}>{lastUsedAt === null ? common.never : <Time at={lastUsedAt} as="distance" />}</td>
      <td className="actions-cell">
        <div className="actions">
          <Button variant="danger" onPress={onRemove} aria-describedby={nameId}>
            {common.remove}
          </Button>
        </div>
      </td>
    </tr>
  )
}

function hostOf(issuer: string): string {
  return URL.parse(issuer)?.host ?? issuer
}

import { useMutation, useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { useLocation } from 'react-router'
import { urlOf } from '../api/client.ts'
import { emailIn, issuerIn, ticketIn } from '../api/link-tickets.ts'
import { queryKeys } from '../api/query-keys.ts'
import { installation, invitedLinkUrl, linkInvite, linkInvitedIdentity } from '../api/session.ts'
import { common } from '../texts/common.ts'
import { texts } from '../texts/identities.ts'
import { Button } from '../ui/button.tsx'
import { ErrorBox } from '../ui/error-box.tsx'
import { LoadState } from '../ui/loading.tsx'
import { Welcome } from '../ui/welcome.tsx'

/** Where this tab keeps the invite while its person is at the issuer. */
const inviteKey = 'stowage.link-invite'

/** Links an account at an issuer with the account of an invite, which comes after "#". Then, a ticket comes there from the issuer. */
export function LinkAccount() {
  const { hash } = useLocation()
  const ticket = ticketIn(hash)
  const invite = useMemo(() => inviteOf(hash, ticket), [hash, ticket])
  if (invite === '') {
    return (
      <Welcome title={texts.inviteTitle}>
        <p>{ticket === null ? texts.inviteWithout : texts.inviteElsewhere}</p>
      </Welcome>
    )
  }
  return <InvitedAccount invite={invite} ticket={ticket} />
}

function InvitedAccount({ invite, ticket }: { invite: string; ticket: string | null }) {
  const account = useQuery({ queryKey: [...queryKeys.linkInvite, invite], queryFn: () => linkInvite(invite) })
  const { data } = useQuery({ queryKey: queryKeys.installation, queryFn: installation })
  const start = useMutation({
    mutationFn: async (issuer: string) => location.assign(await invitedLinkUrl(invite, issuer)),
  })
  const issuers = data?.singleSignOn ?? []
  const email = account.data?.email
  if (email === undefined || !data) {
    return (
      <Welcome title={texts.inviteTitle}>
        <LoadState query={account} label={common.loading} />
      </Welcome>
    )
  }
  if (ticket !== null) {
    const issuer = issuers.find(({ id }) => id === issuerIn(ticket))
    return <AcceptInvite invite={invite} ticket={ticket} account={email} issuer={issuer ?? null} />
  }
  return (
    <Welcome title={texts.inviteTitle}>
      <p>{texts.inviteHelp(email)}</p>
      {start.error && <ErrorBox error={start.error} />}
      {issuers.map(({ id, name }) => (
        <Button
          key={id}
          className="single-sign-on"
          onPress={() => start.mutate(id)}
          isPending={start.isPending && start.variables === id}
          isDisabled={start.isPending}
        >
          {texts.linkAccount(name)}
        </Button>
      ))}
    </Welcome>
  )
}

function AcceptInvite({
  invite,
  ticket,
  account,
  issuer,
}: {
  invite: string
  ticket: string
  account: string
  issuer: { name: string; url: string } | null
}) {
  const accept = useMutation({
    mutationFn: async () => {
      await linkInvitedIdentity(invite, ticket)
      sessionStorage.removeItem(inviteKey)
      // The person is signed in there, and so is here at once.
      location.assign(issuer?.url ?? urlOf('/sign-in'))
    },
  })
  const name = issuer?.name ?? texts.theIssuer
  return (
    <Welcome title={texts.acceptTitle(name, account)}>
      <p>{texts.acceptHelp(emailIn(ticket) ?? name, account)}</p>
      {accept.error && <ErrorBox error={accept.error} />}
      <Button
        variant="primary"
        onPress={() => accept.mutate()}
        isPending={accept.isPending}
        isDisabled={accept.isSuccess}
      >
        {texts.link}
      </Button>
    </Welcome>
  )
}

/** Returns the invite of the address, or the one that this tab has kept; empty for none. */
function inviteOf(hash: string, ticket: string | null): string {
  if (ticket !== null) return sessionStorage.getItem(inviteKey) ?? ''
  const invite = hash.slice(1)
  sessionStorage.setItem(inviteKey, invite)
  return invite
}

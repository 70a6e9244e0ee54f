/** Single sign-on: the page that lists the issuers, and the addresses that they need. */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { ask, urlOf } from '../../api/client.ts'
import { queryKeys } from '../../api/query-keys.ts'
import { useSession } from '../../api/session.ts'
import { common } from '../../texts/common.ts'
import { formatList } from '../../texts/format.ts'
import { texts } from '../../texts/issuers.ts'
import { Button } from '../../ui/button.tsx'
import { CopyButton } from '../../ui/copy-button.tsx'
import { Confirm } from '../../ui/dialog.tsx'
import { LoadState } from '../../ui/loading.tsx'
import { AdminOnly, PageHead } from '../../ui/page.tsx'
import { RowTable } from '../../ui/row-table.tsx'
import { IssuerDialog } from './issuer-dialog.tsx'
import { type ConfiguredIssuer, DeleteIssuerMutation, IssuersQuery } from './operations.ts'
import { PasswordPolicy } from './password-policy.tsx'
import { TestButton } from './test-button.tsx'

type IssuerPageDialog = { kind: 'new' } | { kind: 'edit' | 'remove'; issuer: ConfiguredIssuer }

export function SingleSignOnPage() {
  return (
    <AdminOnly title={texts.singleSignOn} needsUnrestricted>
      <ConfiguredIssuers />
    </AdminOnly>
  )
}

function ConfiguredIssuers() {
  const client = useQueryClient()
  const isOwner = useSession().viewer.user.role === 'OWNER'
  const query = useQuery({
    queryKey: queryKeys.issuers,
    queryFn: ({ signal }) => ask(IssuersQuery, {}, { signal }),
  })
  const issuers = query.data?.issuers
  const [open, setOpen] = useState<IssuerPageDialog | null>(null)
  const close = () => setOpen(null)
  const reload = async () => {
    const changed = [queryKeys.issuers, queryKeys.installation]
    await Promise.all(changed.map(queryKey => client.invalidateQueries({ queryKey })))
  }
  return (
    <>
      <PageHead title={texts.singleSignOn}>
        {isOwner && (
          <Button variant="primary" onPress={() => setOpen({ kind: 'new' })} isDisabled={!issuers}>
            {texts.newIssuer}
          </Button>
        )}
      </PageHead>
      <p className="help">{texts.help}</p>
      {!isOwner && <p className="help">{texts.ownersOnly}</p>}
      <LoadState query={query} label={texts.loading} />
      {issuers?.length === 0 && <p className="empty">{texts.noIssuers}</p>}
      {issuers && issuers.length > 0 && (
        <RowTable label={texts.issuers} columns={[common.name, texts.newAccounts, common.status]}>
          {issuers.map(issuer => (
            <Row key={issuer.id} issuer={issuer} canChange={isOwner && !issuer.isFromSettings} onOpen={setOpen} />
          ))}
        </RowTable>
      )}
      <PasswordPolicy />
      <OwnAddresses />
      {open?.kind === 'new' && <IssuerDialog issuer={null} onSaved={reload} onClose={close} />}
      {open?.kind === 'edit' && <IssuerDialog issuer={open.issuer} onSaved={reload} onClose={close} />}
      {open?.kind === 'remove' && (
        <Confirm
          title={texts.removeTitle(open.issuer.name)}
          action={common.remove}
          onConfirm={async () => {
            await ask(DeleteIssuerMutation, { id: open.issuer.id })
            await reload()
          }}
          onClose={close}
        >
          <p>{texts.removeHelp}</p>
        </Confirm>
      )}
    </>
  )
}

function Row({
  issuer,
  canChange,
  onOpen,
}: {
  issuer: ConfiguredIssuer
  canChange: boolean
  onOpen: (dialog: IssuerPageDialog) => void
}) {
  const { id, name, issuer: address, redirectUri, enabled, isFromSettings, isReplaced, domains, groupsClaim } = issuer
  const nameId = `issuer-${id}`
  return (
    <tr className={enabled ? '' : 'inactive'}>
      <td>
        <div className="main-cell" id={nameId} dir="auto">
          {name}
        </div>
        <div className="help">{address}</div>
        <div className="help">
          {texts.redirectUri}: <code>{redirectUri}</code>
        </div>
      </td>
      <td data-label={texts.newAccounts}>
        {texts.byInvite}
        {groupsClaim !== null && <div className="help">{texts.byGroup(groupsClaim)}</div>}
        {domains.length > 0 && <div className="help">{texts.byDomain(formatList(domains))}</div>}
      </td>
      <td data-label={common.status}>
        <span className={`badge ${enabled && !isReplaced ? 'good' : 'warn'}`}>
          {enabled ? texts.enabled : texts.disabled}
        </span>
        {isFromSettings && <div className="help">{texts.fromSettings}</div>}
        {isReplaced && <div className="help">{texts.replaced}</div>}
      </td>
      <td className="actions-cell">
        <div className="actions">
          <TestButton input={{ id }} aria-describedby={nameId} />
          {canChange && (
            <>
              <Button onPress={() => onOpen({ kind: 'edit', issuer })} aria-describedby={nameId}>
                {common.edit}
              </Button>
              <Button variant="danger" onPress={() => onOpen({ kind: 'remove', issuer })} aria-describedby={nameId}>
                {common.remove}
              </Button>
            </>
          )}
        </div>
      </td>
    </tr>
  )
}

/** The addresses of Stowage that an issuer asks for. */
function OwnAddresses() {
  const address = (path: string) => `${location.origin}${urlOf(path)}`
  const addresses = [
    [texts.backChannelLogout, address('/auth/oidc/backchannel-logout')],
    [texts.frontChannelLogout, address('/auth/oidc/frontchannel-logout')],
    [texts.afterLogout, address('/sign-in')],
  ] as const
  return (
    <>
      <h2>{texts.addresses}</h2>
      <p className="help">{texts.addressesHelp}</p>
      <dl className="own-addresses">
        {addresses.map(([title, text]) => (
          <div key={title}>
            <dt>{title}</dt>
            <dd>
              <code>{text}</code>
              <CopyButton text={text} label={texts.copy(title)} />
            </dd>
          </div>
        ))}
      </dl>
    </>
  )
}

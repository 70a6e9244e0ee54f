/** Service accounts: the page that lists them, and the dialog that creates one. */
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'react-router'
import { ask } from '../../api/client.ts'
import { graphql } from '../../api/graphql.ts'
import { queryKeys } from '../../api/query-keys.ts'
import { common } from '../../texts/common.ts'
import { texts } from '../../texts/groups.tsx'
import { texts as quotaTexts } from '../../texts/quotas.ts'
import { texts as settings } from '../../texts/settings.tsx'
import { Button } from '../../ui/button.tsx'
import { Choices } from '../../ui/choices.tsx'
import { Confirm, FormDialog, NameDialog } from '../../ui/dialog.tsx'
import { NameField } from '../../ui/field.tsx'
import { LoadState } from '../../ui/loading.tsx'
import { AdminOnly, PageHead } from '../../ui/page.tsx'
import { ShowMore, usePages } from '../../ui/pages.tsx'
import { QuotaDialog } from '../../ui/quota-dialog.tsx'
import { RowTable } from '../../ui/row-table.tsx'
import { Time } from '../../ui/time.tsx'
import { AccessSummary, fullAccess, isNothingChosen, type Role, roleChoices, toAccessInput } from '../access/access.tsx'
import { AccessEditor } from '../access/access-editor.tsx'
import { EditMemberDialog, ViewDialog } from '../members/dialogs.tsx'
import { type Member, MembersQuery, RemoveMemberMutation } from '../members/operations.ts'
import { RoleAndGroups } from '../members/role-and-groups.tsx'

const CreateServiceAccountMutation = graphql(`
  mutation CreateServiceAccount($input: CreateServiceAccountInput!) {
    createServiceAccount(input: $input) { id }
  }
`)

const RenameServiceAccountMutation = graphql(`
  mutation RenameServiceAccount($userId: ID!, $name: String!) {
    renameServiceAccount(userId: $userId, name: $name) { id }
  }
`)

type AccountDialog = { kind: 'new' } | { kind: 'view' | 'edit' | 'quota' | 'rename' | 'remove'; account: Member }

export function ServiceAccountsPage() {
  return (
    <AdminOnly title={texts.serviceAccounts} needsUnrestricted>
      <ServiceAccounts />
    </AdminOnly>
  )
}

function ServiceAccounts() {
  const client = useQueryClient()
  const { query, nodes: accounts } = usePages(
    [...queryKeys.members, 'service accounts'],
    async (after, signal) => (await ask(MembersQuery, { after, serviceAccounts: true }, { signal })).users,
  )
  const [open, setOpen] = useState<AccountDialog | null>(null)
  const close = () => setOpen(null)
  const reload = () => client.invalidateQueries({ queryKey: queryKeys.members })
  return (
    <>
      <PageHead title={texts.serviceAccounts}>
        <Button variant="primary" onPress={() => setOpen({ kind: 'new' })}>
          {texts.newAccount}
        </Button>
      </PageHead>
      <p className="help">{texts.serviceAccountsHelp}</p>
      <LoadState query={query} label={texts.loadingAccounts} />
      {accounts?.length === 0 && <p className="empty">{texts.noAccounts}</p>}
      {accounts && accounts.length > 0 && (
        <RowTable
          label={texts.serviceAccounts}
          columns={[texts.serviceAccount, settings.role, common.access, common.created]}
        >
          {accounts.map(account => (
            <Row key={account.id} account={account} onOpen={setOpen} />
          ))}
        </RowTable>
      )}
      <ShowMore query={query} />
      {open?.kind === 'new' && <NewAccountDialog onCreated={reload} onClose={close} />}
      {open?.kind === 'view' && <ViewDialog member={open.account} onClose={close} />}
      {open?.kind === 'edit' && <EditMemberDialog member={open.account} onSaved={reload} onClose={close} />}
      {open?.kind === 'quota' && (
        <QuotaDialog
          name={open.account.name ?? ''}
          subject={{ userId: open.account.id }}
          quota={open.account.quotaRule}
          onSaved={reload}
          onClose={close}
        />
      )}
      {open?.kind === 'rename' && (
        <NameDialog
          title={common.renameTitle(open.account.name ?? '')}
          action={common.rename}
          initial={open.account.name ?? ''}
          onSubmit={async name => {
            await ask(RenameServiceAccountMutation, { userId: open.account.id, name })
            await reload()
          }}
          onClose={close}
        />
      )}
      {open?.kind === 'remove' && (
        <Confirm
          title={settings.removeTitle(open.account.name ?? '')}
          action={common.remove}
          onConfirm={async () => {
            await ask(RemoveMemberMutation, { userId: open.account.id })
            await reload()
          }}
          onClose={close}
        >
          <p>{texts.removeAccountHelp}</p>
        </Confirm>
      )}
    </>
  )
}

function Row({ account, onOpen }: { account: Member; onOpen: (dialog: AccountDialog) => void }) {
  const { id, name, role, createdAt, providerAccess } = account
  const nameId = `account-${id}`
  return (
    <tr>
      <td id={nameId} className="person-cell">
        <div className="main-cell">{name}</div>
      </td>
      <td>
        <RoleAndGroups member={account} />
      </td>
      <td data-label={common.access}>{role === 'NONE' ? common.none : <AccessSummary access={providerAccess} />}</td>
      <td data-label={common.created}>
        <Time at={createdAt} />
      </td>
      <td className="actions-cell">
        <div className="actions">
          <Link className="button" to={`/settings/api-keys?service-account=${id}`} aria-describedby={nameId}>
            {settings.keys}
          </Link>
          <Button onPress={() => onOpen({ kind: 'view', account })} aria-describedby={nameId}>
            {settings.viewAs}
          </Button>
          <Button onPress={() => onOpen({ kind: 'edit', account })} aria-describedby={nameId}>
            {common.edit}
          </Button>
          <Button onPress={() => onOpen({ kind: 'quota', account })} aria-describedby={nameId}>
            {quotaTexts.quota}
          </Button>
          <Button onPress={() => onOpen({ kind: 'rename', account })} aria-describedby={nameId}>
            {common.rename}
          </Button>
          <Button variant="danger" onPress={() => onOpen({ kind: 'remove', account })} aria-describedby={nameId}>
            {common.remove}
          </Button>
        </div>
      </td>
    </tr>
  )
}

function NewAccountDialog({ onCreated, onClose }: { onCreated: () => Promise<void>; onClose: () => void }) {
  const [name, setName] = useState('')
  const [role, setRole] = useState<Role>('VIEWER')
  const [access, setAccess] = useState(fullAccess)
  const create = useMutation({
    mutationFn: async () => {
      if (isNothingChosen(access)) throw new Error(settings.selectStorage)
      const input = { name: name.trim(), role, providerAccess: toAccessInput(access) }
      await ask(CreateServiceAccountMutation, { input })
      await onCreated()
    },
    onSuccess: onClose,
  })
  return (
    <FormDialog title={texts.newAccount} size="large" action={texts.createAccount} submit={create} onClose={onClose}>
      <NameField description={texts.accountNameHelp} value={name} onChange={setName} autoFocus />
      <Choices
        label={settings.role}
        choices={roleChoices('ADMIN').filter(({ value }) => value !== 'NONE')}
        value={role}
        onChange={setRole}
      />
      <AccessEditor access={access} onChange={setAccess} allHelp={texts.allOfWorkspace} hasSeveral />
    </FormDialog>
  )
}

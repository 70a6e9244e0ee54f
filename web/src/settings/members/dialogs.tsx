import { useMutation, useQuery } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { ask, urlOf } from '../../api/client.ts'
import { useSession } from '../../api/session.ts'
import { common } from '../../texts/common.ts'
import { formatList } from '../../texts/format.ts'
import { texts as groupTexts } from '../../texts/groups.tsx'
import { texts } from '../../texts/settings.tsx'
import { Choices } from '../../ui/choices.tsx'
import { CopyButton } from '../../ui/copy-button.tsx'
import { Confirm, Dialog, DialogEnd, FormDialog } from '../../ui/dialog.tsx'
import { TextField } from '../../ui/field.tsx'
import { LoadState } from '../../ui/loading.tsx'
import { Time } from '../../ui/time.tsx'
import {
  type AccessDraft,
  draftOf,
  isNothingChosen,
  type Role,
  roleChoices,
  scopeChoices,
  toAccessInput,
} from '../access/access.tsx'
import { AccessEditor, ExpiryField, useExpiry } from '../access/access-editor.tsx'
import {
  CreateInviteMutation,
  CreateLinkInviteMutation,
  CreatePasswordResetMutation,
  DeactivateMemberMutation,
  type Member,
  type MemberView,
  ReactivateMemberMutation,
  StorageNamesQuery,
  UpdateMemberMutation,
  ViewMemberMutation,
} from './operations.ts'

export function EditMemberDialog({
  member,
  onSaved,
  onClose,
}: {
  member: Member
  onSaved: () => Promise<void>
  onClose: () => void
}) {
  const { role: ownRole } = useSession().viewer.user
  const [role, setRole] = useState<Role>(member.role)
  const [access, setAccess] = useState(() => draftOf(member.providerAccess))
  const save = useMutation({
    mutationFn: async () => {
      if (isNothingChosen(access)) throw new Error(texts.selectStorageOrNone)
      await ask(UpdateMemberMutation, { input: { userId: member.id, role, providerAccess: toAccessInput(access) } })
      await onSaved()
    },
    onSuccess: onClose,
  })
  return (
    <FormDialog
      title={texts.editAccess(member.name ?? member.email)}
      size="large"
      action={common.save}
      submit={save}
      onClose={onClose}
    >
      <Choices
        label={texts.role}
        choices={roleChoices(member.isServiceAccount ? 'ADMIN' : ownRole)}
        value={role}
        onChange={setRole}
      />
      {role !== 'NONE' && (
        <AccessEditor access={access} onChange={setAccess} allHelp={texts.allOfWorkspace} hasSeveral />
      )}
      <p className="help">{texts.editAccessHelp}</p>
    </FormDialog>
  )
}

/** Shows what a member can access and do. Nobody acts as the member, and the audit log records the look. */
export function ViewDialog({ member, onClose }: { member: Member; onClose: () => void }) {
  const query = useQuery({
    queryKey: ['member-view', member.id],
    queryFn: async ({ signal }) => {
      const { viewMember } = await ask(ViewMemberMutation, { userId: member.id }, { signal })
      const { providers } = await ask(StorageNamesQuery, {}, { signal })
      return { view: viewMember, providers }
    },
    retry: false,
    gcTime: 0,
    refetchOnWindowFocus: false,
  })
  return (
    <Dialog title={texts.viewTitle(member.name ?? member.email)} onClose={onClose}>
      {query.data ? <View {...query.data} /> : <LoadState query={query} label={texts.loadingStorages} />}
      <p className="help">{texts.viewHelp}</p>
      <DialogEnd label={common.done} onClose={onClose} />
    </Dialog>
  )
}

function View({
  view: { user, scopes, providerAccess },
  providers,
}: {
  view: MemberView
  providers: readonly { id: string; name: string }[]
}) {
  const scope = scopeChoices.findLast(({ value }) => scopes.includes(value))
  const folders = providerAccess.all
    ? providers.map(provider => ({ provider, basePath: '/' }))
    : providerAccess.restrictions
  if (!scope || folders.length === 0) return <p>{texts.viewNothing}</p>
  const groups = formatList(user.groups.map(({ name }) => name))
  return (
    <>
      {groups !== '' && <p>{groupTexts.fromGroups(groups)}</p>}
      <ul>
        {folders.map(({ provider, basePath }) => (
          <li key={`${provider.id}${basePath}`}>
            <strong>
              {provider.name} {basePath !== '/' && <span className="mono">{basePath}</span>}
            </strong>
            <div className="help">
              {scope.title}: {scope.help}
            </div>
          </li>
        ))}
      </ul>
    </>
  )
}

/** Creates a registration link for one person. */
export function InviteDialog({ onCreated, onClose }: { onCreated: () => void; onClose: () => void }) {
  const { role: ownRole } = useSession().viewer.user
  const [role, setRole] = useState<Role>('VIEWER')
  const [access, setAccess] = useState<AccessDraft>({ all: true, chosen: {} })
  const [note, setNote] = useState('')
  const expiry = useExpiry('7')
  const invite = useMutation({
    mutationFn: () => {
      if (isNothingChosen(access)) throw new Error(texts.selectStorage)
      const input = {
        role,
        providerAccess: toAccessInput(access),
        expiresAt: expiry.expiresAt(),
        note: note.trim() || null,
      }
      return ask(CreateInviteMutation, { input })
    },
    onSuccess: onCreated,
  })
  if (invite.data) {
    const { invite: code, expiresAt } = invite.data.createInvite
    const link = location.origin + urlOf(`/register?invite=${encodeURIComponent(code)}`)
    return <LinkDialog link={link} expiresAt={expiresAt} help={texts.inviteLinkHelp} onClose={onClose} />
  }
  return (
    <FormDialog title={texts.inviteMember} size="large" action={texts.createInvite} submit={invite} onClose={onClose}>
      <TextField label={texts.noteFor} value={note} onChange={setNote} maxLength={200} description={texts.noteHelp} />
      <Choices
        label={texts.role}
        choices={roleChoices(ownRole).filter(({ value }) => value !== 'NONE')}
        value={role}
        onChange={setRole}
      />
      <AccessEditor access={access} onChange={setAccess} allHelp={texts.allOfWorkspace} hasSeveral />
      <ExpiryField expiry={expiry} allowNever={false} />
    </FormDialog>
  )
}

/** Deactivates a member, or reactivates them. */
export function ActivityDialog({
  member,
  onChanged,
  onClose,
}: {
  member: Member
  onChanged: () => Promise<void>
  onClose: () => void
}) {
  const { id, email, deactivatedAt } = member
  const name = member.name ?? email
  const isActive = deactivatedAt === null
  return (
    <Confirm
      title={isActive ? texts.deactivateTitle(name) : texts.reactivateTitle(name)}
      action={isActive ? texts.deactivate : texts.reactivate}
      onConfirm={async () => {
        await (isActive ? ask(DeactivateMemberMutation, { userId: id }) : ask(ReactivateMemberMutation, { userId: id }))
        await onChanged()
      }}
      onClose={onClose}
    >
      <p>{isActive ? texts.deactivateHelp(email) : texts.reactivateHelp(email)}</p>
    </Confirm>
  )
}

/** Creates a link with which a member sets a new password. */
export function ResetDialog({ member, onClose }: { member: Member; onClose: () => void }) {
  const create = useMutation({ mutationFn: () => ask(CreatePasswordResetMutation, { userId: member.id }) })
  if (create.data) {
    const { token, expiresAt } = create.data.createPasswordReset
    // Browsers do not send the part after "#", so the token gets into no log.
    const link = `${location.origin}${urlOf('/reset-password')}#${token}`
    return <LinkDialog link={link} expiresAt={expiresAt} help={texts.resetLinkHelp} onClose={onClose} />
  }
  return (
    <FormDialog
      title={texts.resetTitle(member.name ?? member.email)}
      action={texts.createLink}
      submit={create}
      onClose={onClose}
    >
      <p>{texts.resetHelp}</p>
    </FormDialog>
  )
}

/** Lets a member link an account at an issuer without signing in. */
export function LinkInviteDialog({ member, onClose }: { member: Member; onClose: () => void }) {
  const create = useMutation({ mutationFn: () => ask(CreateLinkInviteMutation, { userId: member.id }) })
  if (create.data) {
    const { invite, expiresAt } = create.data.createLinkInvite
    const link = `${location.origin}${urlOf('/link-account')}#${invite}`
    return <LinkDialog link={link} expiresAt={expiresAt} help={texts.resetLinkHelp} onClose={onClose} />
  }
  return (
    <FormDialog
      title={texts.linkSignInTitle(member.name ?? member.email)}
      action={texts.createLink}
      submit={create}
      onClose={onClose}
    >
      <p>{texts.linkSignInHelp}</p>
    </FormDialog>
  )
}

/** Shows a link once. The server sends no mail, so the administrator passes the link on. */
function LinkDialog({
  link,
  expiresAt,
  help,
  onClose,
}: {
  link: string
  expiresAt: string
  help: (expiry: ReactNode) => ReactNode
  onClose: () => void
}) {
  return (
    <Dialog title={texts.sendLink} onClose={onClose} isBusy>
      <p>{help(<Time at={expiresAt} />)}</p>
      <code className="secret" data-testid="link">
        {link}
      </code>
      <DialogEnd label={common.done} onClose={onClose}>
        <CopyButton text={link} label={texts.copyLink} />
      </DialogEnd>
    </Dialog>
  )
}

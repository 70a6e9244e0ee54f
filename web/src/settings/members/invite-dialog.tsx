import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { urlOf } from '../../api/base-path.ts'
import { ask } from '../../api/request.ts'
import { useSession } from '../../api/use-session.ts'
import { texts } from '../../texts/settings.tsx'
import { Choices } from '../../ui/choices.tsx'
import { TextField } from '../../ui/field.tsx'
import { FormDialog } from '../../ui/form-dialog.tsx'
import { AccessEditor } from '../access/access-editor.tsx'
import { type AccessDraft, isNothingChosen, type Role, roleChoices, toAccessInput } from '../access/draft.ts'
import { ExpiryField, useExpiry } from '../access/expiry.tsx'
import { LinkDialog } from './link-dialog.tsx'
import { CreateInviteMutation } from './operations.ts'

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

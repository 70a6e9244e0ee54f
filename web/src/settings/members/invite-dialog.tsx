import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { urlOf } from '../../api/base-path.ts'
import { ask } from '../../api/request.ts'
import { usePermissions, useSession } from '../../api/use-session.ts'
import { common } from '../../texts/common.ts'
import { texts } from '../../texts/settings.tsx'
import { Button } from '../../ui/button.tsx'
import { Choices } from '../../ui/choices.tsx'
import { CopyButton } from '../../ui/copy-button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { FormDialog } from '../../ui/form-dialog.tsx'
import { Time } from '../../ui/time.tsx'
import { AccessEditor } from '../access/access-editor.tsx'
import { type AccessDraft, isNothingChosen, type Role, roleChoices, toAccessInput } from '../access/draft.ts'
import { ExpiryField, useExpiry } from '../access/expiry.tsx'
import { CreateInviteMutation } from './operations.ts'

/** Creates a registration link for one person. The server sends no mail, so the administrator passes the link on. */
export function InviteDialog({ onCreated, onClose }: { onCreated: () => void; onClose: () => void }) {
  const { role: ownRole } = useSession().viewer.user
  const { canAccessAll } = usePermissions()
  const [role, setRole] = useState<Role>('VIEWER')
  const [access, setAccess] = useState<AccessDraft>({ all: canAccessAll, chosen: {} })
  const expiry = useExpiry('7')
  const invite = useMutation({
    mutationFn: () => {
      if (isNothingChosen(access)) throw new Error(texts.selectStorage)
      const input = { role, providerAccess: toAccessInput(access), expiresAt: expiry.expiresAt() }
      return ask(CreateInviteMutation, { input })
    },
    onSuccess: onCreated,
  })
  if (invite.data) return <InviteLink {...invite.data.createInvite} onClose={onClose} />
  return (
    <FormDialog title={texts.inviteMember} size="large" action={texts.createInvite} submit={invite} onClose={onClose}>
      <Choices
        label={texts.role}
        choices={roleChoices(ownRole).filter(({ value }) => value !== 'NONE')}
        value={role}
        onChange={setRole}
      />
      <AccessEditor access={access} onChange={setAccess} allHelp={texts.allOfWorkspace} />
      <ExpiryField expiry={expiry} allowNever={false} />
    </FormDialog>
  )
}

function InviteLink({ invite, expiresAt, onClose }: { invite: string; expiresAt: string; onClose: () => void }) {
  const link = location.origin + urlOf(`/register?invite=${encodeURIComponent(invite)}`)
  return (
    <Dialog title={texts.sendLink} onClose={onClose} isBusy>
      <p>{texts.inviteLinkHelp(<Time at={expiresAt} />)}</p>
      <code className="secret" data-testid="invite-link">
        {link}
      </code>
      <div className="dialog-actions">
        <CopyButton text={link} label={texts.copyLink} />
        <Button variant="primary" onPress={onClose}>
          {common.done}
        </Button>
      </div>
    </Dialog>
  )
}

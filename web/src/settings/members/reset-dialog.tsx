import { useMutation } from '@tanstack/react-query'
import { urlOf } from '../../api/base-path.ts'
import { ask } from '../../api/request.ts'
import { texts } from '../../texts/settings.tsx'
import { FormDialog } from '../../ui/form-dialog.tsx'
import { LinkDialog } from './link-dialog.tsx'
import { CreatePasswordResetMutation, type Member } from './operations.ts'

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

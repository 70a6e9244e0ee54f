import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { ask } from '../../api/request.ts'
import { useSession } from '../../api/use-session.ts'
import { common } from '../../texts/common.ts'
import { texts } from '../../texts/settings.tsx'
import { Choices } from '../../ui/choices.tsx'
import { FormDialog } from '../../ui/form-dialog.tsx'
import { AccessEditor } from '../access/access-editor.tsx'
import { draftOf, isNothingChosen, type Role, roleChoices, toAccessInput } from '../access/draft.ts'
import { type Member, UpdateMemberMutation } from './operations.ts'

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
      <Choices label={texts.role} choices={roleChoices(ownRole)} value={role} onChange={setRole} />
      {role !== 'NONE' && (
        <AccessEditor access={access} onChange={setAccess} allHelp={texts.allOfWorkspace} hasSeveral />
      )}
      <p className="help">{texts.editAccessHelp}</p>
    </FormDialog>
  )
}

import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { ask } from '../../api/request.ts'
import { useSession } from '../../api/use-session.ts'
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
      if (isNothingChosen(access)) throw new Error('Select at least one storage, or choose the role “No access”.')
      await ask(UpdateMemberMutation, { input: { userId: member.id, role, providerAccess: toAccessInput(access) } })
      await onSaved()
    },
    onSuccess: onClose,
  })
  return (
    <FormDialog
      title={`Edit access for ${member.name ?? member.email}`}
      size="large"
      action="Save"
      submit={save}
      onClose={onClose}
    >
      <Choices label="Role" choices={roleChoices(ownRole)} value={role} onChange={setRole} />
      {role !== 'NONE' && (
        <AccessEditor
          access={access}
          onChange={setAccess}
          allHelp="Every storage in the workspace, including those connected later."
        />
      )}
      <p className="help">Changes apply to the member’s API keys immediately, too.</p>
    </FormDialog>
  )
}

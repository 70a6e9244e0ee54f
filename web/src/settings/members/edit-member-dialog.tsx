import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { Form } from 'react-aria-components'
import { ask } from '../../api/request.ts'
import { useSession } from '../../app/use-session.ts'
import { Button } from '../../ui/button.tsx'
import { Choices } from '../../ui/choices.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { ErrorBox } from '../../ui/error-box.tsx'
import { AccessEditor } from '../access/access-editor.tsx'
import { draftOf, nothingChosen, type Role, roleChoices, toAccessInput } from '../access/draft.ts'
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
      if (nothingChosen(access)) throw new Error('Choose at least one provider, or the role “No access”.')
      await ask(UpdateMemberMutation, { input: { userId: member.id, role, providerAccess: toAccessInput(access) } })
      await onSaved()
    },
    onSuccess: onClose,
  })
  return (
    <Dialog title={`Access of ${member.name ?? member.email}`} onClose={onClose} isBusy={save.isPending} size="large">
      <Form
        onSubmit={event => {
          event.preventDefault()
          save.mutate()
        }}
      >
        <Choices label="Role" choices={roleChoices(ownRole)} value={role} onChange={setRole} />
        {role !== 'NONE' && (
          <AccessEditor
            access={access}
            onChange={setAccess}
            allHelp="All of the workspace, also those connected later."
          />
        )}
        <p className="help">Their API keys shrink with them, at once.</p>
        {save.error && <ErrorBox error={save.error} />}
        <div className="dialog-actions">
          <Button onPress={onClose} isDisabled={save.isPending}>
            Cancel
          </Button>
          <Button type="submit" variant="primary" isPending={save.isPending}>
            Save
          </Button>
        </div>
      </Form>
    </Dialog>
  )
}

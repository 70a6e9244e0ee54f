import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { ask } from '../../api/client.ts'
import { common } from '../../texts/common.ts'
import { texts } from '../../texts/groups.tsx'
import { texts as settings } from '../../texts/settings.tsx'
import { Choices } from '../../ui/choices.tsx'
import { FormDialog } from '../../ui/dialog.tsx'
import { NameField } from '../../ui/field.tsx'
import { draftOf, fullAccess, isNothingChosen, type Role, roleChoices, toAccessInput } from '../access/access.tsx'
import { AccessEditor } from '../access/access-editor.tsx'
import { CreateGroupMutation, type Group, UpdateGroupMutation } from './operations.ts'

/** Creates a group, or changes one. @param props.group null for a new one */
export function GroupDialog({
  group,
  onSaved,
  onClose,
}: {
  group: Group | null
  onSaved: () => Promise<void>
  onClose: () => void
}) {
  const [name, setName] = useState(group?.name ?? '')
  const [role, setRole] = useState<Role>(group?.role ?? 'VIEWER')
  const [access, setAccess] = useState(() => (group ? draftOf(group.providerAccess) : fullAccess))
  const save = useMutation({
    mutationFn: async () => {
      if (isNothingChosen(access) && role !== 'NONE') throw new Error(texts.selectStorageOrNone)
      const providerAccess = isNothingChosen(access) ? null : toAccessInput(access)
      const input = { name: name.trim(), role, providerAccess }
      if (group) await ask(UpdateGroupMutation, { input: { id: group.id, ...input } })
      else await ask(CreateGroupMutation, { input })
      await onSaved()
    },
    onSuccess: onClose,
  })
  return (
    <FormDialog
      title={group ? common.editTitle(group.name) : texts.newGroup}
      size="large"
      action={group ? common.save : texts.createGroup}
      submit={save}
      onClose={onClose}
    >
      <NameField value={name} onChange={setName} autoFocus />
      <Choices label={settings.role} choices={roleChoices('ADMIN')} value={role} onChange={setRole} />
      {role !== 'NONE' && (
        <AccessEditor access={access} onChange={setAccess} allHelp={texts.allOfWorkspace} hasSeveral />
      )}
      <p className="help">{texts.groupRights}</p>
    </FormDialog>
  )
}

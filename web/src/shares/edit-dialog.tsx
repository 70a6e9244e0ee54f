import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { ask } from '../api/client.ts'
import { queryKeys } from '../api/query-keys.ts'
import { useSession } from '../api/session.ts'
import { idsOf, UpdateShareMutation } from '../api/shares.ts'
import { common } from '../texts/common.ts'
import { texts } from '../texts/shares.tsx'
import { Checkbox, Switch } from '../ui/choices.tsx'
import { FormDialog } from '../ui/dialog.tsx'
import { type Recipient, RecipientField } from '../ui/recipient-field.tsx'
import { changedSettings, ShareFields, useShareTexts } from '../ui/share-fields.tsx'
import type { Share } from './operations.ts'

/** Edits the settings of a share, and its people and groups. Only what changed is sent. */
export function EditShareDialog({ share, onClose }: { share: Share; onClose: () => void }) {
  const { id, kind, paths, hasPassword } = share
  const client = useQueryClient()
  const { viewer, workspace } = useSession()
  const { sendsEmail } = workspace
  const { stored, values, change } = useShareTexts(share)
  const [removesPassword, setRemovesPassword] = useState(false)
  const [people, setPeople] = useState<readonly Recipient[] | null>(share.recipients)
  const [emailsPeople, setEmailsPeople] = useState(true)
  const audience = changedAudience(share.recipients ?? [], people ?? [])
  // The email comes from the creator, so an administrator cannot send it.
  const canEmail = sendsEmail && share.createdBy?.id === viewer.user.id && audience.addUserIds.length > 0
  const save = useMutation({
    mutationFn: async () => {
      const settings = { ...changedSettings(kind, values, stored), ...(removesPassword && { password: null }) }
      const emailUsers = canEmail && emailsPeople
      await ask(UpdateShareMutation, { input: { id, ...settings, ...(people && { ...audience, emailUsers }) } })
      await client.invalidateQueries({ queryKey: queryKeys.shares })
    },
    onSuccess: onClose,
  })
  return (
    <FormDialog
      title={common.editTitle(texts.andMore(paths[0] ?? '/', paths.length - 1))}
      size="large"
      action={common.save}
      submit={save}
      isValid={people === null || people.length > 0 || share.recipients?.length === 0}
      onClose={onClose}
    >
      {people && (
        <RecipientField label={texts.people} description={texts.changeHelp} chosen={people} onChange={setPeople} />
      )}
      {canEmail && (
        <Switch isSelected={emailsPeople} onChange={setEmailsPeople}>
          {texts.emailNewUsers}
        </Switch>
      )}
      <ShareFields
        kind={kind}
        isNew={false}
        isForPeople={people !== null}
        sendsEmail={sendsEmail}
        values={values}
        change={change}
      />
      {hasPassword && (
        <Checkbox isSelected={removesPassword} onChange={setRemovesPassword}>
          {texts.removePassword}
        </Checkbox>
      )}
    </FormDialog>
  )
}

function changedAudience(before: readonly Recipient[], after: readonly Recipient[]) {
  const added = after.filter(({ id }) => !before.some(each => each.id === id))
  const removed = before.filter(({ id }) => !after.some(each => each.id === id))
  return {
    addUserIds: idsOf(added, 'USER'),
    addGroupIds: idsOf(added, 'GROUP'),
    removeUserIds: idsOf(removed, 'USER'),
    removeGroupIds: idsOf(removed, 'GROUP'),
  }
}

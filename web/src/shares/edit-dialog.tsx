import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { queryKeys } from '../api/query-keys.ts'
import { ask } from '../api/request.ts'
import { useSession } from '../api/use-session.ts'
import { common } from '../texts/common.ts'
import { texts } from '../texts/shares.tsx'
import { Checkbox } from '../ui/checkbox.tsx'
import { FormDialog } from '../ui/form-dialog.tsx'
import { changedSettings, ShareFields, useShareTexts } from '../ui/share-fields.tsx'
import { type Share, UpdateShareMutation } from './operations.ts'

/** Edits the settings of a share link. Only changed settings are sent. */
export function EditShareDialog({ share, onClose }: { share: Share; onClose: () => void }) {
  const { id, kind, paths, hasPassword } = share
  const client = useQueryClient()
  const { sendsEmail } = useSession().workspace
  const { stored, values, change } = useShareTexts(share)
  const [removesPassword, setRemovesPassword] = useState(false)
  const save = useMutation({
    mutationFn: async () => {
      const input = { id, ...changedSettings(kind, values, stored), ...(removesPassword && { password: null }) }
      await ask(UpdateShareMutation, { input })
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
      onClose={onClose}
    >
      <ShareFields kind={kind} isNew={false} sendsEmail={sendsEmail} values={values} change={change} />
      {hasPassword && (
        <Checkbox isSelected={removesPassword} onChange={setRemovesPassword}>
          {texts.removePassword}
        </Checkbox>
      )}
    </FormDialog>
  )
}

import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { ask } from '../api/client.ts'
import { common } from '../texts/common.ts'
import { texts } from '../texts/quotas.ts'
import { FormDialog } from '../ui/dialog.tsx'
import { TextField } from '../ui/field.tsx'
import type { QuotaUsage } from '../ui/quota-bars.tsx'
import { SetQuotaMutation } from './operations.ts'

const gigabyte = 1_000_000_000

/** Sets the quota of a whole storage. Without any limit, it is removed. */
export function QuotaDialog({
  provider,
  quota,
  onSaved,
  onClose,
}: {
  provider: { id: string; name: string }
  quota: QuotaUsage | null
  onSaved: () => Promise<void>
  onClose: () => void
}) {
  const [size, setSize] = useState(quota?.bytes == null ? '' : String(quota.bytes / gigabyte))
  const [files, setFiles] = useState(quota?.files == null ? '' : String(quota.files))
  const save = useMutation({
    mutationFn: async () => {
      const bytes = size.trim() === '' ? null : Math.round(Number(size) * gigabyte)
      const count = files.trim() === '' ? null : Number(files)
      // There is nothing to remove.
      if (bytes === null && count === null && quota === null) return
      await ask(SetQuotaMutation, { input: { providerId: provider.id, bytes, files: count } })
      await onSaved()
    },
    onSuccess: onClose,
  })
  return (
    <FormDialog title={texts.quotaTitle(provider.name)} action={common.save} submit={save} onClose={onClose}>
      <p className="help">{texts.quotaHelp}</p>
      <TextField
        label={texts.gigabytes}
        description={texts.noLimit}
        value={size}
        onChange={setSize}
        inputMode="decimal"
        autoComplete="off"
        maxLength={15}
        validate={text =>
          text.trim() === '' || /^\d{1,7}(?:\.\d{1,9})?$/.test(text.trim()) ? null : texts.wrongNumber
        }
      />
      <TextField
        label={texts.maxFiles}
        description={texts.noLimit}
        value={files}
        onChange={setFiles}
        inputMode="numeric"
        autoComplete="off"
        maxLength={12}
        validate={text => (text.trim() === '' || /^\d{1,12}$/.test(text.trim()) ? null : texts.wrongCount)}
      />
    </FormDialog>
  )
}

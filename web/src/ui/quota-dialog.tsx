import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { ask } from '../api/client.ts'
import { graphql } from '../api/graphql.ts'
import { common } from '../texts/common.ts'
import { texts } from '../texts/quotas.ts'
import { FormDialog } from './dialog.tsx'
import { TextField } from './field.tsx'
import { QuotaBars, type QuotaUsage } from './quota-bars.tsx'

const SetQuotaMutation = graphql(`
  mutation SetQuota($input: SetQuotaInput!) {
    setQuota(input: $input) { id }
  }
`)

const gigabyte = 1_000_000_000

/** The subject of a quota: a storage or one of its folders, or a member. */
export type QuotaSubject = { providerId: string; path?: string } | { userId: string }

/** Sets a quota. Without any limit, it is removed. */
export function QuotaDialog({
  name,
  subject,
  quota,
  onSaved,
  onClose,
}: {
  /** The name of the subject. */
  name: string
  subject: QuotaSubject
  quota: QuotaUsage | null
  onSaved: () => Promise<unknown>
  onClose: () => void
}) {
  const [size, setSize] = useState(quota?.bytes == null ? '' : String(quota.bytes / gigabyte))
  const [files, setFiles] = useState(quota?.files == null ? '' : String(quota.files))
  const save = useMutation({
    mutationFn: async () => {
      const bytes = size.trim() === '' ? null : Math.round(Number(size.replace(',', '.')) * gigabyte)
      const count = files.trim() === '' ? null : Number(files)
      // There is nothing to remove.
      if (bytes === null && count === null && quota === null) return
      await ask(SetQuotaMutation, { input: { ...subject, bytes, files: count } })
      await onSaved()
    },
    onSuccess: onClose,
  })
  return (
    <FormDialog title={texts.quotaTitle(name)} action={common.save} submit={save} onClose={onClose}>
      {quota && <QuotaBars quota={quota} />}
      <p className="help">{'userId' in subject ? texts.memberQuotaHelp : texts.quotaHelp}</p>
      <TextField
        label={texts.gigabytes}
        description={texts.noLimit}
        value={size}
        onChange={setSize}
        inputMode="decimal"
        autoComplete="off"
        maxLength={15}
        validate={text =>
          text.trim() === '' || /^\d{1,7}(?:[.,]\d{1,9})?$/.test(text.trim()) ? null : texts.wrongNumber
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

import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { ask } from '../api/client.ts'
import { common } from '../texts/common.ts'
import { texts } from '../texts/storages.tsx'
import { Checkbox } from '../ui/checkbox.tsx'
import { TextField } from '../ui/field.tsx'
import { FormDialog } from '../ui/form-dialog.tsx'
import { ConfigFields, problemsOf, suggestionsOf, useConfigForm } from './config-fields.tsx'
import { type Config, fieldsThatResetSecrets, toChanges } from './config-schema.ts'
import { JobLimitFields, useJobLimits } from './job-limits.tsx'
import { type ManagedProvider, UpdateMutation } from './operations.ts'
import { parseDays, TrashField } from './trash-field.tsx'

const pattern = /^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$/

/** The name of a storage in the addresses of WebDAV and S3. */
function SlugField({ stored, value, onChange }: { stored: string; value: string; onChange: (slug: string) => void }) {
  return (
    <>
      <TextField
        label={texts.slug}
        description={texts.slugHelp}
        value={value}
        onChange={onChange}
        isRequired
        maxLength={63}
        autoComplete="off"
        validate={text => (pattern.test(text) ? null : texts.wrongSlug)}
      />
      {value !== stored && (
        <p className="notice" role="status">
          {texts.slugChanges(stored)}
        </p>
      )}
    </>
  )
}

/** Edits a storage. Only changed fields are sent, and the server tests them before it stores them. */
export function EditDialog({
  provider,
  onSaved,
  onClose,
}: {
  provider: ManagedProvider
  onSaved: () => Promise<void>
  onClose: () => void
}) {
  const stored = provider.config as Config
  const { fields, values, change } = useConfigForm(provider.type.configSchema, stored)
  const [name, setName] = useState(provider.name)
  const [slug, setSlug] = useState(provider.slug)
  const limits = useJobLimits(provider.jobLimits)
  const [days, setDays] = useState(provider.trashDays === null ? '' : String(provider.trashDays))
  const [cleared, setCleared] = useState<readonly string[]>([])
  const save = useMutation({
    mutationFn: async () => {
      const config = {
        ...toChanges(fields, values, stored),
        ...Object.fromEntries(cleared.map(secret => [secret, null])),
      }
      const input = {
        id: provider.id,
        ...(name !== provider.name && { name }),
        ...(slug !== provider.slug && { slug }),
        ...(Object.keys(config).length > 0 && { config }),
        ...(limits.changes && { jobLimits: limits.changes }),
        ...(parseDays(days) !== provider.trashDays && { trashDays: parseDays(days) }),
      }
      await ask(UpdateMutation, { input })
      await onSaved()
    },
    onSuccess: onClose,
  })
  const problems = problemsOf(save.error)
  const changedTitles = fieldsThatResetSecrets(fields, values, stored).map(({ title }) => title)
  const hasSecrets = fields.some(({ isSecret }) => isSecret)
  const optionalSecrets = fields.filter(({ isSecret, isRequired }) => isSecret && !isRequired)
  return (
    <FormDialog
      title={common.editTitle(provider.name)}
      action={common.save}
      pendingAction={texts.testing}
      submit={save}
      problems={problems}
      onClose={onClose}
    >
      <TextField label={common.name} value={name} onChange={setName} isRequired maxLength={200} autoComplete="off" />
      <SlugField stored={provider.slug} value={slug} onChange={setSlug} />
      {changedTitles.length > 0 && (hasSecrets || provider.type.needsAuthorization) && (
        <p className="notice" role="status">
          {hasSecrets && `${texts.secretsAgain(changedTitles)} `}
          {provider.type.needsAuthorization && texts.consentAgain}
        </p>
      )}
      <ConfigFields
        fields={fields}
        values={values}
        onChange={change}
        problems={problems}
        suggestions={suggestionsOf(save.error)}
        onAccept={(name, value) => {
          change(name, value)
          save.reset()
        }}
        secrets={changedTitles.length > 0 ? 'again' : 'kept'}
      />
      {optionalSecrets.map(({ name, title }) => (
        <Checkbox
          key={name}
          isSelected={cleared.includes(name)}
          onChange={isCleared => setCleared(isCleared ? [...cleared, name] : cleared.filter(other => other !== name))}
        >
          {texts.deleteSecret(title)}
        </Checkbox>
      ))}
      <TrashField providerId={provider.id} value={days} onChange={setDays} />
      <JobLimitFields limits={limits} />
    </FormDialog>
  )
}

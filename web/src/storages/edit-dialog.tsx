import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { ask } from '../api/client.ts'
import { common } from '../texts/common.ts'
import { texts as searchTexts } from '../texts/search.tsx'
import { texts } from '../texts/storages.tsx'
import { Checkbox } from '../ui/choices.tsx'
import { FormDialog } from '../ui/dialog.tsx'
import { NameField, TextField } from '../ui/field.tsx'
import { Select } from '../ui/select.tsx'
import { ConfigFields, problemsOf, suggestionsOf } from './config-fields.tsx'
import { useConfigForm } from './config-form.ts'
import type { Config } from './config-schema.ts'
import { KeepingFields, useKeeping } from './keeping-fields.tsx'
import { type ManagedProvider, UpdateMutation } from './operations.ts'

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
  const form = useConfigForm(provider.type.configSchema, stored)
  const { fields, values, change } = form
  const [name, setName] = useState(provider.name)
  const [slug, setSlug] = useState(provider.slug)
  const limits = useJobLimits(provider.jobLimits)
  const keeping = useKeeping(provider)
  const [mode, setMode] = useState(provider.catalogue.mode)
  const [cleared, setCleared] = useState<readonly string[]>([])
  const save = useMutation({
    mutationFn: async () => {
      const config = {
        ...form.toChanges(stored),
        ...Object.fromEntries(cleared.map(secret => [secret, null])),
      }
      const input = {
        id: provider.id,
        ...(name !== provider.name && { name }),
        ...(slug !== provider.slug && { slug }),
        ...(Object.keys(config).length > 0 && { config }),
        ...(limits.changes && { jobLimits: limits.changes }),
        ...(mode !== provider.catalogue.mode && { catalogueMode: mode }),
        ...keeping.changes,
      }
      await ask(UpdateMutation, { input })
      await onSaved()
    },
    onSuccess: onClose,
  })
  const problems = problemsOf(save.error)
  const changedTitles = form.resetsSecrets(stored).map(({ title }) => title)
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
      <NameField value={name} onChange={setName} />
      <SlugField stored={provider.slug} value={slug} onChange={setSlug} />
      {changedTitles.length > 0 && (hasSecrets || provider.type.needsAuthorization) && (
        <p className="notice" role="status">
          {hasSecrets && `${texts.secretsAgain(changedTitles)} `}
          {provider.type.needsAuthorization && texts.consentAgain}
        </p>
      )}
      {form.choices.map(({ title, options }, index) => (
        <Select
          key={title}
          label={title}
          options={options.map((option, number) => ({ value: String(number), title: option.title }))}
          value={numberText(form.chosen[index])}
          onChange={picked => form.choose(index, Number(picked))}
        />
      ))}
      <ConfigFields
        type={provider.type.type}
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
      <KeepingFields keeping={keeping} />
      <Select
        label={searchTexts.mode}
        description={searchTexts.modeHelp}
        options={modes}
        value={mode}
        onChange={setMode}
      />
      <JobLimitFields limits={limits} />
    </FormDialog>
  )
}

/** Returns null where the stored configuration does not tell the choice. */
function numberText(chosen: number | null | undefined): string | null {
  return chosen == null ? null : String(chosen)
}

/** The modes of the search that a person can choose. */
const modes = (['OFF', 'NAMES', 'CONTENT'] as const).map(value => ({ value, title: searchTexts.modes[value] }))

type StoredLimits = ManagedProvider['jobLimits']

const megabyte = 1_000_000
/** The least bytes per second that the server accepts. */
const minRate = 65_536
const maxFiles = 128

/** The state of the fields. `changes` are null if the limits are as stored. */
function useJobLimits(stored: StoredLimits) {
  const [files, setFiles] = useState(String(stored.filesAtOnce))
  const [rate, setRate] = useState(stored.bytesPerSecond === null ? '' : String(stored.bytesPerSecond / megabyte))
  const limits: StoredLimits = { filesAtOnce: Number(files), bytesPerSecond: bytesOf(rate) }
  const isChanged = limits.filesAtOnce !== stored.filesAtOnce || limits.bytesPerSecond !== stored.bytesPerSecond
  return { files, setFiles, rate, setRate, changes: isChanged ? limits : null }
}

/** The limits of jobs at a storage. */
function JobLimitFields({ limits }: { limits: ReturnType<typeof useJobLimits> }) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset brings its own border and legend
    <div role="group" aria-label={texts.jobLimits} className="job-limits">
      <h3>{texts.jobLimits}</h3>
      <p className="help">{texts.jobLimitsHelp}</p>
      <TextField
        label={texts.filesAtOnce}
        value={limits.files}
        onChange={limits.setFiles}
        isRequired
        inputMode="numeric"
        autoComplete="off"
        validate={text =>
          isWholeNumber(text) && Number(text) >= 1 && Number(text) <= maxFiles ? null : texts.wrongFiles(maxFiles)
        }
      />
      <TextField
        label={texts.speed}
        description={texts.speedHelp}
        value={limits.rate}
        onChange={limits.setRate}
        inputMode="decimal"
        autoComplete="off"
        validate={text => {
          const bytes = bytesOf(text)
          return bytes === null || bytes >= minRate ? null : texts.wrongSpeed
        }}
      />
    </div>
  )
}

function isWholeNumber(text: string): boolean {
  return /^\d{1,9}$/.test(text.trim())
}

/** Returns null for an empty text, and NaN for one that is no number. */
function bytesOf(text: string): number | null {
  const plain = text.trim().replace(',', '.')
  return plain === '' ? null : Math.round(Number(plain) * megabyte)
}

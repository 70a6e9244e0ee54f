import { type ReactNode, useId } from 'react'
import { Disclosure, DisclosurePanel, Heading, Button as PlainButton } from 'react-aria-components'
import { common } from '../texts/common.ts'
import { texts } from '../texts/storages.tsx'
import { Button } from '../ui/button.tsx'
import { Switch } from '../ui/choices.tsx'
import { TextField } from '../ui/field.tsx'
import { Select } from '../ui/select.tsx'
import type { ConfigField, FieldValue } from './config-schema.ts'
import { ServerFolderField } from './server-folder-field.tsx'
import './storages.css'
import { StowageError } from '../api/client.ts'
import { errorText } from '../texts/errors.ts'
import { formatList } from '../texts/format.ts'

/** The fields of a configuration. Fields that few people change are folded away under “Advanced”. */
export function ConfigFields(props: {
  /** The type of storage. */
  type: string
  fields: readonly ConfigField[]
  values: Record<string, FieldValue>
  onChange: (name: string, value: FieldValue) => void
  /** Error messages from the server, by the name of the field. */
  problems: Record<string, string>
  /** Values from the server that a person can accept, by the name of the field. */
  suggestions: Record<string, string>
  /** Sets a field to its suggestion, and ends the error of the server, with which the form could not be sent again. */
  onAccept: (name: string, value: string) => void
  /** Whether secrets are entered for the first time, may stay empty to keep the stored ones, or are required again. */
  secrets?: 'new' | 'kept' | 'again'
}) {
  const { fields, problems } = props
  const advanced = fields.filter(field => field.isAdvanced)
  return (
    <>
      {fields
        .filter(field => !field.isAdvanced)
        .map(field => (
          <Field key={field.name} {...props} field={field} />
        ))}
      {advanced.length > 0 && (
        <Folded
          title={texts.advanced}
          summary={formatList(advanced.map(({ title }) => title))}
          needsAttention={advanced.some(({ name }) => problems[name] !== undefined)}
        >
          {advanced.map(field => (
            <Field key={field.name} {...props} field={field} />
          ))}
        </Folded>
      )}
    </>
  )
}

/** Fields that few people change. */
export function Folded({
  title,
  summary,
  needsAttention = false,
  children,
}: {
  title: string
  /** Says what is inside. */
  summary: string
  needsAttention?: boolean
  children: ReactNode
}) {
  const summaryId = useId()
  return (
    <Disclosure key={String(needsAttention)} className="advanced" defaultExpanded={needsAttention}>
      <Heading level={2}>
        <PlainButton slot="trigger" className="advanced-trigger" aria-describedby={summaryId}>
          <span className="advanced-mark" aria-hidden="true" />
          {title}
        </PlainButton>
      </Heading>
      <p id={summaryId} className="help advanced-summary">
        {summary}
      </p>
      <DisclosurePanel className="advanced-panel">{children}</DisclosurePanel>
    </Disclosure>
  )
}

function Field({
  type,
  field,
  values,
  onChange,
  suggestions,
  onAccept,
  secrets = 'new',
}: {
  type: string
  field: ConfigField
  values: Record<string, FieldValue>
  onChange: (name: string, value: FieldValue) => void
  suggestions: Record<string, string>
  onAccept: (name: string, value: string) => void
  secrets?: 'new' | 'kept' | 'again'
}) {
  const value = values[field.name] ?? ''
  const set = (next: FieldValue) => onChange(field.name, next)
  if (field.kind === 'switch') {
    return (
      <Switch isSelected={value === true} onChange={set}>
        {field.title}
        {field.help && <span className="help block">{field.help}</span>}
      </Switch>
    )
  }
  if (field.kind === 'choice') {
    const options = field.choices.map(choice => ({ value: choice, title: choice }))
    return (
      <Select label={field.title} description={field.help} options={options} value={String(value)} onChange={set} />
    )
  }
  const isKept = field.isSecret && secrets === 'kept'
  // A field with a default may be empty: the server fills in the default.
  const isInputRequired = field.isRequired && field.defaultValue === undefined && !isKept
  const suggestion = suggestions[field.name]
  const input = (
    <TextField
      name={field.name}
      label={field.isRequired || field.isAdvanced ? field.title : common.optional(field.title)}
      description={isKept ? `${field.help ?? ''} ${texts.keepSecret}`.trim() : field.help}
      value={String(value)}
      onChange={set}
      isRequired={isInputRequired}
      validate={text => problemOf(field, text)}
      autoComplete="off"
      type={field.isSecret ? 'password' : 'text'}
      {...(field.kind === 'number' && { inputMode: 'decimal' as const })}
      {...(typeof field.defaultValue === 'string' && field.defaultValue && { placeholder: field.defaultValue })}
    />
  )
  if (field.picksFolder) {
    return (
      <ServerFolderField type={type} title={field.title} value={String(value)} onChange={set}>
        {input}
      </ServerFolderField>
    )
  }
  if (suggestion === undefined || suggestion === value) return input
  return (
    <>
      {input}
      <div className="notice">
        <div className="inline-row">
          <code className="address">{suggestion}</code>
          <Button onPress={() => onAccept(field.name, suggestion)}>{texts.acceptSuggestion(field.title)}</Button>
        </div>
      </div>
    </>
  )
}

/** The requirements of some patterns, in plain words. */
const knownStarts: Readonly<Record<string, { start: RegExp; words: string }>> = {
  '^https?://': { start: /^https?:\/\//, words: texts.startWithHttp },
  '^/': { start: /^\//, words: texts.startWithSlash },
}

/** Returns what is wrong with a text, if that can be said in plain words. The server checks everything. */
function problemOf({ pattern }: ConfigField, text: string): string | null {
  const known = pattern === null ? undefined : knownStarts[pattern]
  return known && text !== '' && !known.start.test(text) ? known.words : null
}

/** Returns the values that the server suggests, by the name of the field. A person has to accept them. */
export function suggestionsOf(error: unknown): Record<string, string> {
  const { suggestions } = error instanceof StowageError ? error.extensions : {}
  if (typeof suggestions !== 'object' || suggestions === null) return {}
  return Object.fromEntries(Object.entries(suggestions).map(([name, value]) => [name, String(value)]))
}

/** Returns the server's message for each invalid field, by the name of the field. */
export function problemsOf(error: unknown): Record<string, string> {
  if (!(error instanceof StowageError)) return {}
  const message = errorText(error)
  const sentences = message.replace(/\.$/, '').split(/: |; /)
  const sentenceFor = (name: string) => sentences.find(sentence => sentence.startsWith(`"${name}" `)) ?? message
  const { properties } = error.extensions
  const names = Array.isArray(properties) ? properties.map(String) : []
  return Object.fromEntries(names.map(name => [name, sentenceFor(name).replace(/^"[^"]*" /, 'This ')]))
}

import { useId } from 'react'
import { Button, Disclosure, DisclosurePanel, Heading } from 'react-aria-components'
import { Switch } from '../ui/checkbox.tsx'
import { TextField } from '../ui/field.tsx'
import { Select } from '../ui/select.tsx'
import type { ConfigField, Value } from './config-schema.ts'
import './connect.css'

/** The fields of a configuration; what most people leave as it is lies folded below. */
export function ConfigFields(props: {
  fields: readonly ConfigField[]
  values: Record<string, Value>
  onChange: (name: string, value: Value) => void
  /** The server's words, by the name of a field. */
  problems: Record<string, string>
  /** Of a form that changes what is stored: whether secrets may stay empty. */
  secrets?: 'new' | 'kept' | 'again'
}) {
  const { fields, problems } = props
  const summaryId = useId()
  const advanced = fields.filter(field => field.isAdvanced)
  const needsAttention = advanced.some(({ name }) => problems[name] !== undefined)
  return (
    <>
      {fields
        .filter(field => !field.isAdvanced)
        .map(field => (
          <OneField key={field.name} {...props} field={field} />
        ))}
      {advanced.length > 0 && (
        <Disclosure key={String(needsAttention)} className="advanced" defaultExpanded={needsAttention}>
          <Heading level={2}>
            <Button slot="trigger" className="advanced-trigger" aria-describedby={summaryId}>
              <span className="advanced-mark" aria-hidden="true" />
              Advanced
            </Button>
          </Heading>
          <p id={summaryId} className="help advanced-summary">
            {advanced.map(({ title }) => title).join(', ')}
          </p>
          <DisclosurePanel className="advanced-panel">
            {advanced.map(field => (
              <OneField key={field.name} {...props} field={field} />
            ))}
          </DisclosurePanel>
        </Disclosure>
      )}
    </>
  )
}

function OneField({
  field,
  values,
  onChange,
  secrets = 'new',
}: {
  field: ConfigField
  values: Record<string, Value>
  onChange: (name: string, value: Value) => void
  secrets?: 'new' | 'kept' | 'again'
}) {
  const value = values[field.name] ?? ''
  const set = (next: Value) => onChange(field.name, next)
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
  // What has a default may be emptied: then the server takes it.
  const mustBeGiven = field.isRequired && field.preset === undefined && !isKept
  return (
    <TextField
      name={field.name}
      label={field.isRequired || field.isAdvanced ? field.title : `${field.title} (optional)`}
      description={isKept ? `${field.help ?? ''} Stays as it is while this is empty.`.trim() : field.help}
      value={String(value)}
      onChange={set}
      isRequired={mustBeGiven}
      autoComplete="off"
      type={field.isSecret ? 'password' : 'text'}
      {...(field.kind === 'number' && { inputMode: 'decimal' as const })}
      {...(typeof field.preset === 'string' && field.preset && { placeholder: field.preset })}
    />
  )
}

import { useMemo, useState } from 'react'
import { StowageError } from '../api/client.ts'
import { errorText } from '../texts/errors.ts'
import { type Config, type FieldValue, initialValues, readSchema } from './config-schema.ts'

/** The state of a configuration form. Give the form a `key`, so that each type starts with fresh state. */
export function useConfigForm(schema: unknown, stored?: Config) {
  const fields = useMemo(() => readSchema(schema), [schema])
  const [values, setValues] = useState<Record<string, FieldValue>>(() => initialValues(fields, stored))
  const change = (name: string, value: FieldValue) => setValues(previous => ({ ...previous, [name]: value }))
  return { fields, values, change }
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

import { useMemo, useState } from 'react'
import { ApiError } from '../api/request.ts'
import { type Config, readSchema, startValues, type Value } from './config-schema.ts'

/** What a form of a configuration holds. It is made anew for each type: see `key`. */
export function useConfigForm(schema: unknown, stored?: Config) {
  const fields = useMemo(() => readSchema(schema), [schema])
  const [values, setValues] = useState<Record<string, Value>>(() => startValues(fields, stored))
  const change = (name: string, value: Value) => setValues(before => ({ ...before, [name]: value }))
  return { fields, values, change }
}

/** What the server says of each field; what it says of none is only in the message. */
export function problemsOf(error: unknown): Record<string, string> {
  if (!(error instanceof ApiError)) return {}
  const sentences = error.message.replace(/\.$/, '').split(/: |; /)
  const about = (name: string) => sentences.find(sentence => sentence.startsWith(`"${name}" `)) ?? error.message
  return Object.fromEntries(error.properties.map(name => [name, about(name).replace(/^"[^"]*" /, 'This ')]))
}

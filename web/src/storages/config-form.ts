import { useMemo, useState } from 'react'
import {
  type Chosen,
  chosenSteps,
  chosenValues,
  initialChosen,
  unchosenSecrets,
  visibleFields,
} from './chosen-fields.ts'
import { readChoices } from './config-choices.ts'
import {
  type Config,
  type FieldValue,
  fieldsThatResetSecrets,
  initialValues,
  readSchema,
  toChanges,
  toConfig,
} from './config-schema.ts'

/** The state of a configuration form. Give the form a `key`, so that each type starts with fresh state. */
export function useConfigForm(schema: unknown, stored?: Config) {
  const all = useMemo(() => readSchema(schema), [schema])
  const choices = useMemo(() => readChoices(schema), [schema])
  const [values, setValues] = useState<Record<string, FieldValue>>(() => initialValues(all, stored))
  const [before] = useState<Chosen>(() => initialChosen(choices, all, stored))
  const [chosen, setChosen] = useState<Chosen>(before)
  const inUse = () => chosenValues(all, values, choices, chosen)
  return {
    fields: visibleFields(all, choices, chosen),
    values,
    change: (name: string, value: FieldValue) => setValues(previous => ({ ...previous, [name]: value })),
    choices,
    chosen,
    choose: (choice: number, option: number) => setChosen(chosen.map((other, i) => (i === choice ? option : other))),
    /** What to do before the form is filled in. */
    steps: chosenSteps(schema, choices, chosen),
    toConfig: () => toConfig(all, inUse()),
    /** Returns the changed properties. Null removes one: that of an option that is not chosen any more, too. */
    toChanges: (config: Config): Config => ({
      ...Object.fromEntries(unchosenSecrets(all, choices, { before, now: chosen }).map(name => [name, null])),
      ...toChanges(all, inUse(), config),
    }),
    resetsSecrets: (config: Config) => fieldsThatResetSecrets(all, inUse(), config),
  }
}

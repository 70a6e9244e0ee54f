/** The settings for deleted and replaced files of a storage, with what they cost. */
import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { ask } from '../api/client.ts'
import { queryKeys } from '../api/query-keys.ts'
import { texts as trashTexts } from '../texts/trash.tsx'
import { texts } from '../texts/versions.tsx'
import { TextField } from '../ui/field.tsx'
import { KeepingQuery, type ManagedProvider } from './operations.ts'

const names = ['trashDays', 'versionCount', 'versionDays'] as const
type KeptName = (typeof names)[number]

const bounds: Readonly<Record<KeptName, readonly [min: number, max: number]>> = {
  trashDays: [0, 3650],
  versionCount: [0, 1000],
  versionDays: [1, 3650],
}

/** Returns the number that a text means: null for an empty one, and NaN for one that is not valid. */
function parse(name: KeptName, text: string): number | null {
  const plain = text.trim()
  if (plain === '') return null
  const value = /^\d{1,4}$/.test(plain) ? Number(plain) : Number.NaN
  const [min, max] = bounds[name]
  return value >= min && value <= max ? value : Number.NaN
}

/** The state of the fields. `changes` has those that are not as stored. */
export function useKeeping(provider: ManagedProvider) {
  const initial = (name: KeptName) => (provider[name] === null ? '' : String(provider[name]))
  const [texts, setTexts] = useState<Readonly<Record<KeptName, string>>>({
    trashDays: initial('trashDays'),
    versionCount: initial('versionCount'),
    versionDays: initial('versionDays'),
  })
  const changed = names.filter(name => parse(name, texts[name]) !== provider[name])
  const changes: Partial<Record<KeptName, number | null>> = Object.fromEntries(
    changed.map(name => [name, parse(name, texts[name])]),
  )
  return {
    providerId: provider.id,
    texts,
    set: (name: KeptName, text: string) => setTexts({ ...texts, [name]: text }),
    changes,
  }
}

export function KeepingFields({
  keeping: { providerId, texts: values, set },
}: {
  keeping: ReturnType<typeof useKeeping>
}) {
  const { data } = useQuery({
    queryKey: [...queryKeys.providers, 'keeping', providerId],
    queryFn: async ({ signal }) => (await ask(KeepingQuery, { id: providerId }, { signal })).provider,
  })
  const field = (
    name: KeptName,
    label: string,
    description: ReactNode,
    wrong: (min: number, max: number) => string,
  ) => (
    <TextField
      label={label}
      description={description}
      value={values[name]}
      onChange={text => set(name, text)}
      inputMode="numeric"
      autoComplete="off"
      validate={text => (Number.isNaN(parse(name, text)) ? wrong(...bounds[name]) : null)}
    />
  )
  const usualDays = data?.trashDays === null ? data.trash.days : null
  const usualCount = data?.versionCount === null ? data.versions.count : null
  const usualVersionDays = data?.versionDays === null ? data.versions.days : null
  return (
    <>
      {field('trashDays', trashTexts.days, trashTexts.daysHelp(usualDays), trashTexts.wrongNumber)}
      {data && !data.trash.isOneStep && Number(values.trashDays) > 0 && <Cost>{trashTexts.costs}</Cost>}
      {field('versionCount', texts.count, texts.countHelp(usualCount), trashTexts.wrongNumber)}
      {data?.versions.isNative && <Cost>{texts.native}</Cost>}
      {data && !data.versions.isOneStep && Number(values.versionCount) > 0 && <Cost>{texts.costs}</Cost>}
      {field('versionDays', texts.days, texts.daysHelp(usualVersionDays), trashTexts.wrongNumber)}
    </>
  )
}

function Cost({ children }: { children: ReactNode }) {
  return (
    <p className="notice" role="status">
      {children}
    </p>
  )
}

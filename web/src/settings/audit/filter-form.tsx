import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { queryKeys } from '../../api/query-keys.ts'
import { usePermissions } from '../../api/session.ts'
import { texts } from '../../texts/audit.ts'
import { Button } from '../../ui/button.tsx'
import { TextField } from '../../ui/field.tsx'
import { Select } from '../../ui/select.tsx'
import { type AuditEvent, type AuditFilter, auditChoices } from './events.ts'

/** Stands for no filter, because a choice needs a value. */
const any = 'any'

type Choices<Value extends string> = readonly { value: Value; title: string }[]

const actionChoices = Object.entries(texts.actions).map(([value, title]) => ({ value, title }))
const outcomeChoices = Object.entries(texts.outcomes).map(([value, title]) => ({ value, title }))

export function FilterForm({ draft, onChange }: { draft: FilterDraft; onChange: (draft: FilterDraft) => void }) {
  const { isUnrestricted } = usePermissions()
  const { data } = useQuery({
    queryKey: [...queryKeys.auditEvents, 'choices'],
    queryFn: ({ signal }) => auditChoices(isUnrestricted, signal),
  })
  const set = (changed: Partial<FilterDraft>) => onChange({ ...draft, ...changed })
  const members = data?.members.map(({ id, email, name }) => ({ value: id, title: name ?? email })) ?? []
  const storages = data?.storages.map(({ id, name }) => ({ value: id, title: name })) ?? []
  return (
    <search className="audit-filters" aria-label={texts.filters}>
      <Choice label={texts.member} choices={members} value={draft.userId} onChange={userId => set({ userId })} />
      <Choice
        label={texts.action}
        choices={actionChoices}
        value={draft.action}
        onChange={action => set({ action: action as FilterDraft['action'] })}
      />
      <Choice
        label={texts.result}
        choices={outcomeChoices}
        value={draft.outcome}
        onChange={outcome => set({ outcome: outcome as FilterDraft['outcome'] })}
      />
      <Choice
        label={texts.storage}
        choices={storages}
        value={draft.providerId}
        onChange={providerId => set({ providerId, ...(providerId === '' && { path: '' }) })}
      />
      {draft.providerId !== '' && <PathField value={draft.path} onChange={path => set({ path })} />}
      <TextField label={texts.from} type="date" value={draft.from} onChange={from => set({ from })} />
      <TextField label={texts.to} type="date" value={draft.to} onChange={to => set({ to })} />
      {Object.keys(searchOf(draft)).length > 0 && (
        <Button variant="quiet" onPress={() => onChange(emptyFilter)}>
          {texts.clearFilters}
        </Button>
      )}
    </search>
  )
}

function Choice(props: {
  label: string
  choices: Choices<string>
  /** Empty for no filter. */
  value: string
  onChange: (value: string) => void
}) {
  const { label, choices, value, onChange } = props
  // The address can name a member who has left, for example.
  const isKnown = value === '' || choices.some(choice => choice.value === value)
  return (
    <Select
      label={label}
      options={[{ value: any, title: texts.any }, ...choices, ...(isKnown ? [] : [{ value, title: value }])]}
      value={value || any}
      onChange={picked => onChange(picked === any ? '' : picked)}
    />
  )
}

/** Applies the path when the person has finished typing. */
function PathField({ value, onChange }: { value: string; onChange: (path: string) => void }) {
  const [text, setText] = useState(value)
  useEffect(() => setText(value), [value])
  return (
    <TextField
      label={texts.path}
      value={text}
      onChange={setText}
      onBlur={() => onChange(text.trim())}
      onKeyDown={({ key }) => {
        if (key === 'Enter') onChange(text.trim())
      }}
    />
  )
}

/** The fields of the form of filters. Empty text filters nothing. */
interface FilterDraft {
  userId: string
  providerId: string
  path: string
  action: AuditEvent['action'] | ''
  outcome: '' | 'OK' | 'CUT'
  /** Days in the time zone of the browser: "2026-11-22". */
  from: string
  to: string
}

/** The text of each filter in the address of the page. */
const emptyFilter: FilterDraft = {
  userId: '',
  providerId: '',
  path: '',
  action: '',
  outcome: '',
  from: '',
  to: '',
}

/** Reads a filter from the address, so that a link to it can be sent to others. */
export function filterOf(search: URLSearchParams): FilterDraft {
  const given = Object.keys(emptyFilter).map(name => [name, search.get(name) ?? ''])
  return { ...emptyFilter, ...Object.fromEntries(given) }
}

/** Returns the parameters of the address; a filter that is not used is left out. */
export function searchOf(draft: FilterDraft): Record<string, string> {
  return Object.fromEntries(Object.entries(draft).filter(([, value]) => value !== ''))
}

export function toInput({ userId, providerId, path, action, outcome, from, to }: FilterDraft): AuditFilter {
  return {
    ...(userId && { userId }),
    ...(providerId && { providerId }),
    // A path belongs to one storage.
    ...(providerId && path && { pathPrefix: path.startsWith('/') ? path : `/${path}` }),
    ...(action && { action }),
    ...(outcome && { result: outcome }),
    ...(from && { since: startOf(from, 0) }),
    ...(to && { until: startOf(to, 1) }),
  }
}

/** Returns the start of a day, plus a number of days, as ISO 8601. */
function startOf(day: string, more: number): string {
  const start = new Date(`${day}T00:00:00`)
  start.setDate(start.getDate() + more)
  return start.toISOString()
}

/** Chooses people and groups of the workspace. Those who are chosen are shown in the field, and each can be removed. */
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { type KeyboardEvent, useEffect, useRef, useState } from 'react'
import { ComboBox, Input, Label, ListBox, ListBoxItem, Popover } from 'react-aria-components'
import { ask } from '../api/client.ts'
import { graphql, type ResultOf } from '../api/graphql.ts'
import { queryKeys } from '../api/query-keys.ts'
import { texts } from '../texts/shares.tsx'
import { Avatar } from './avatar.tsx'
import { Icon } from './icons.tsx'
import './choices.css'
import './recipient-field.css'

const ShareRecipientsQuery = graphql(`
  query ShareRecipients($search: String!) {
    shareRecipients(search: $search) { kind id name email }
  }
`)

export type Recipient = ResultOf<typeof ShareRecipientsQuery>['shareRecipients'][number]

/** Milliseconds without a key until the server searches. */
const typingPause = 200
/** As in the API. */
const maxSearch = 100

/** Finds people and groups by a part of a name or an email; an empty text finds the first of all, and null nobody. */
export function useFoundRecipients(search: string | null) {
  return useQuery({
    queryKey: [...queryKeys.recipients, search],
    queryFn: async ({ signal }) =>
      (await ask(ShareRecipientsQuery, { search: search ?? '' }, { signal })).shareRecipients,
    placeholderData: keepPreviousData,
    enabled: search !== null,
  })
}

export function RecipientField({
  label,
  description,
  chosen,
  onChange,
  present = new Set(),
  autoFocus = false,
}: {
  label: string
  description: string
  chosen: readonly Recipient[]
  onChange: (chosen: readonly Recipient[]) => void
  /** The ids of people and groups who have access already. */
  present?: ReadonlySet<string>
  autoFocus?: boolean
}) {
  const [text, setText] = useState('')
  const search = usePaused(text.trim().slice(0, maxSearch), typingPause)
  const { data: found = [] } = useFoundRecipients(search)
  const field = useRef<HTMLDivElement>(null)
  const offered = found.filter(({ id }) => !chosen.some(each => each.id === id))

  // A value closes the list. The field takes the next one after that.
  const [picked, setPicked] = useState<string | null>(null)
  useEffect(() => {
    if (picked !== null) setPicked(null)
  }, [picked])
  const pick = (id: string | null) => {
    const recipient = offered.find(each => each.id === id)
    if (recipient) onChange([...chosen, recipient])
    setPicked(id)
    setText('')
  }
  const remove = (id: string) => onChange(chosen.filter(each => each.id !== id))
  const removeChip = (index: number, id: string) => {
    // The focus goes to a neighbor, because the button that has it goes.
    const buttons = field.current?.querySelectorAll('button') ?? []
    const next = buttons[index + 1] ?? buttons[index - 1] ?? field.current?.querySelector('input')
    next?.focus()
    remove(id)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const last = chosen.at(-1)
    if (event.key === 'Backspace' && text === '' && last) remove(last.id)
  }
  return (
    <ComboBox
      className="field recipient-field"
      inputValue={text}
      onInputChange={setText}
      value={picked}
      onChange={key => pick(key === null ? null : String(key))}
      items={offered}
      disabledKeys={present}
      menuTrigger="focus"
      allowsEmptyCollection
      defaultFilter={() => true}
    >
      <Label>{label}</Label>
      <div className="recipient-box" ref={field}>
        {chosen.length > 0 && (
          <ul className="recipient-chips" aria-label={label}>
            {chosen.map((recipient, index) => (
              <Chip key={recipient.id} recipient={recipient} onRemove={() => removeChip(index, recipient.id)} />
            ))}
          </ul>
        )}
        <Input
          placeholder={chosen.length === 0 ? texts.peoplePlaceholder : ''}
          onKeyDown={onKeyDown}
          autoComplete="off"
          autoFocus={autoFocus}
        />
      </div>
      <p className="help">{description}</p>
      <Popover className="popover select-popover recipient-popover" trigger="ComboBox" triggerRef={field}>
        {/* A list outside of the dialog needs a landmark of its own. */}
        <section aria-label={label}>
          <ListBox renderEmptyState={() => <p className="recipient-none">{texts.nobodyFound}</p>}>
            {(recipient: Recipient) => (
              <ListBoxItem id={recipient.id} textValue={recipient.name} className="recipient-option">
                <RecipientName recipient={recipient} />
                {present.has(recipient.id) && <span className="help">{texts.hasAccess}</span>}
              </ListBoxItem>
            )}
          </ListBox>
        </section>
      </Popover>
    </ComboBox>
  )
}

/** A picture, the name, and what tells apart people of the same name. */
export function RecipientName({ recipient: { kind, name, email } }: { recipient: Recipient }) {
  const more = kind === 'GROUP' ? texts.group : email === name ? null : email
  return (
    <>
      <RecipientPicture kind={kind} name={name} />
      <span className="recipient-name">
        <span dir="auto">{name}</span>
        {more !== null && <span className="help">{more}</span>}
      </span>
    </>
  )
}

function RecipientPicture({ kind, name }: Pick<Recipient, 'kind' | 'name'>) {
  if (kind === 'USER') return <Avatar name={name} />
  return (
    <span className="avatar group">
      <Icon name="people" />
    </span>
  )
}

function Chip({ recipient, onRemove }: { recipient: Recipient; onRemove: () => void }) {
  const { kind, name } = recipient
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Delete' && event.key !== 'Backspace') return
    event.preventDefault()
    event.stopPropagation()
    onRemove()
  }
  return (
    <li className="recipient-chip">
      <RecipientPicture kind={kind} name={name} />
      <span dir="auto">{name}</span>
      <button type="button" aria-label={texts.removeRecipient(name)} onClick={onRemove} onKeyDown={onKeyDown}>
        <Icon name="cross" />
      </button>
    </li>
  )
}

/** Returns the value once it has not changed for a time. @param pause milliseconds */
export function usePaused<Value>(value: Value, pause: number): Value {
  const [paused, setPaused] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setPaused(value), pause)
    return () => clearTimeout(timer)
  }, [value, pause])
  return paused
}

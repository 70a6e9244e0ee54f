/** Writes a comment. After `@` it offers the people of the workspace. */
import { useMutation } from '@tanstack/react-query'
import { type KeyboardEvent, useId, useRef, useState } from 'react'
import { texts } from '../../texts/comments.ts'
import { common } from '../../texts/common.ts'
import { Button } from '../../ui/button.tsx'
import { ErrorBox } from '../../ui/error-box.tsx'
import { RecipientName, useFoundRecipients, usePaused } from '../../ui/recipient-field.tsx'
import { type MentionedPerson, mentionBefore, toStored } from './mention-text.ts'

/** As in the API, in UTF-16 code units. Names are longer than the ids that are stored for them, or shorter. */
const maxText = 2000
/** Milliseconds without a key until the server searches. */
const typingPause = 150
/** People that the list shows. */
const maxOffered = 6

export function CommentField({
  label,
  help,
  action,
  text: initial = '',
  people: mentioned = [],
  onSave,
  onCancel,
}: {
  label: string
  help?: string
  /** The label of the button. */
  action: string
  text?: string
  /** Those whom the text mentions already. */
  people?: readonly MentionedPerson[]
  /** Gets the text as the server stores it. */
  onSave: (text: string) => Promise<unknown>
  onCancel?: () => void
}) {
  const ids = { field: useId(), help: useId(), list: useId() }
  const field = useRef<HTMLTextAreaElement>(null)
  const [text, setText] = useState(initial)
  const [people, setPeople] = useState(mentioned)
  const [typed, setTyped] = useState<ReturnType<typeof mentionBefore>>(null)
  const [active, setActive] = useState(0)
  // A name that is complete needs no list, which would cover the buttons.
  const isComplete = typed !== null && people.some(({ name }) => name === typed.search.trim())
  const offered = useOffered(isComplete ? null : (typed?.search ?? null))
  const save = useMutation({
    mutationFn: async () => {
      await onSave(toStored(text.trim(), people))
      return text
    },
    onSuccess: sent => {
      // The person may have typed the next comment meanwhile.
      if (!onCancel) setText(now => (now === sent ? '' : now))
    },
  })
  const isEmpty = text.trim() === ''
  const submit = () => {
    if (!isEmpty && !save.isPending) save.mutate()
  }
  const follow = ({ value, selectionStart }: HTMLTextAreaElement) => {
    setTyped(mentionBefore(value, selectionStart))
    setActive(0)
  }
  const pick = (index: number) => {
    const person = offered[index]
    const element = field.current
    if (!person || !typed || !element) return
    // An email address tells two people with the same name apart.
    const isTaken = people.some(({ id, name }) => id !== person.id && name === person.name)
    const name = isTaken ? (person.email ?? person.name) : person.name
    const end = typed.start + 1 + typed.search.length
    const before = `${text.slice(0, typed.start)}@${name} `
    setText(before + text.slice(end))
    setPeople([...people.filter(({ id }) => id !== person.id), { id: person.id, name }])
    setTyped(null)
    element.focus()
    requestAnimationFrame(() => element.setSelectionRange(before.length, before.length))
  }
  const onKeyDown = (event: KeyboardEvent) => {
    // An input method has keys of its own.
    if (event.nativeEvent.isComposing) return
    const { key, ctrlKey, metaKey } = event
    if (key === 'Enter' && (ctrlKey || metaKey)) return submit()
    if (offered.length === 0) return
    const step = key === 'ArrowDown' ? 1 : key === 'ArrowUp' ? -1 : 0
    if (step !== 0) setActive((active + step + offered.length) % offered.length)
    else if (key === 'Enter' || key === 'Tab') pick(active)
    else if (key === 'Escape') setTyped(null)
    else return
    event.preventDefault()
    event.stopPropagation()
  }
  return (
    <form
      className="comment-field"
      onSubmit={event => {
        event.preventDefault()
        submit()
      }}
    >
      <label htmlFor={ids.field}>{label}</label>
      <div className="comment-box">
        <textarea
          id={ids.field}
          ref={field}
          rows={2}
          dir="auto"
          maxLength={maxText}
          value={text}
          aria-describedby={help === undefined ? undefined : ids.help}
          aria-autocomplete="list"
          aria-controls={offered.length > 0 ? ids.list : undefined}
          aria-activedescendant={offered.length > 0 ? `${ids.list}-${active}` : undefined}
          // biome-ignore lint/a11y/noAutofocus: the person has just asked to edit the text
          autoFocus={onCancel !== undefined}
          onChange={({ target }) => {
            setText(target.value)
            follow(target)
          }}
          onSelect={({ currentTarget }) => follow(currentTarget)}
          onBlur={() => setTyped(null)}
          onKeyDown={onKeyDown}
        />
        {offered.length > 0 && (
          <div id={ids.list} className="comment-people" role="listbox" aria-label={texts.people}>
            {offered.map((person, index) => (
              // biome-ignore lint/a11y/useKeyWithClickEvents: the field has the keys of the list
              <div
                key={person.id}
                id={`${ids.list}-${index}`}
                role="option"
                aria-selected={index === active}
                tabIndex={-1}
                // The field keeps the focus.
                onPointerDown={event => event.preventDefault()}
                onClick={() => pick(index)}
              >
                <RecipientName recipient={person} />
              </div>
            ))}
          </div>
        )}
      </div>
      {help !== undefined && (
        <p id={ids.help} className="help">
          {help}
        </p>
      )}
      {save.error && <ErrorBox error={save.error} />}
      <div className="comment-buttons">
        {onCancel && <Button onPress={onCancel}>{common.cancel}</Button>}
        <Button type="submit" isPending={save.isPending} isDisabled={isEmpty}>
          {action}
        </Button>
      </div>
    </form>
  )
}

/** The people whom a part of a name finds; none without a search. */
function useOffered(search: string | null) {
  const paused = usePaused(search?.trim() ?? null, typingPause)
  const { data = [] } = useFoundRecipients(paused)
  if (search === null || paused === null) return []
  return data.filter(({ kind }) => kind === 'USER').slice(0, maxOffered)
}

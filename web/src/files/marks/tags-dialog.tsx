import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type KeyboardEvent, useId, useState } from 'react'
import { workConcurrently } from '../../api/concurrency.ts'
import type { StorageLocation } from '../../api/locations.ts'
import { common } from '../../texts/common.ts'
import { texts } from '../../texts/marks.ts'
import { Button } from '../../ui/button.tsx'
import { FormDialog } from '../../ui/dialog.tsx'
import { Icon } from '../../ui/icons.tsx'
import type { Entry } from '../operations.ts'
import { showMarks, updateTags, useTags } from './operations.ts'
import { hueOf } from './tag-links.tsx'
import './marks.css'

/** As in the API. */
const [maxLength, maxTags] = [50, 20]
const atOnce = 4

const keyOf = (tag: string) => tag.normalize('NFC').toLowerCase()

/** Changes the tags of one or more entries of a folder. */
export function TagsDialog({
  folder,
  entries,
  onDone,
  onClose,
}: {
  folder: StorageLocation
  entries: readonly Entry[]
  onDone?: () => void
  onClose: () => void
}) {
  const client = useQueryClient()
  const listId = useId()
  const { data: known = [] } = useTags()
  // The entries change while the dialog saves.
  const [chosen] = useState(entries)
  const [before] = useState(() => countTags(entries))
  const [added, setAdded] = useState<readonly string[]>([])
  const [removed, setRemoved] = useState<ReadonlySet<string>>(new Set())
  const [text, setText] = useState('')
  const shown = [...before.values()].filter(({ name }) => !removed.has(keyOf(name)))
  const names = [...shown.map(({ name }) => name), ...added]
  const typed = text.trim()
  const given = [...added, ...(typed === '' ? [] : [typed])].map(keyOf)
  // The bound is that of each entry, and several entries have more tags together.
  const hasTooMany = ({ tags }: Entry) => {
    const kept = (tags ?? []).map(keyOf).filter(tag => !removed.has(tag))
    return new Set([...kept, ...given]).size > maxTags
  }
  const problem = typed.length > maxLength ? texts.tagTooLong : chosen.some(hasTooMany) ? texts.tooManyTags : null

  const add = (tag: string) => {
    const name = tag.trim()
    if (name === '' || name.length > maxLength) return
    setRemoved(new Set([...removed].filter(each => each !== keyOf(name))))
    const everybodyHas = before.get(keyOf(name))?.count === chosen.length
    if (!everybodyHas && !added.some(each => keyOf(each) === keyOf(name))) setAdded([...added, name])
    setText('')
  }
  const remove = (tag: string) => {
    setAdded(added.filter(each => keyOf(each) !== keyOf(tag)))
    if (before.has(keyOf(tag))) setRemoved(new Set([...removed, keyOf(tag)]))
  }
  const save = useMutation({
    mutationFn: async () => {
      const changes = { add: typed === '' ? [...added] : [...added, typed], remove: [...removed] }
      if (changes.add.length === 0 && changes.remove.length === 0) return
      const work = (entry: Entry) => updateTags(client, folder, entry, changes)
      const { failures } = await workConcurrently(chosen, atOnce, work)
      await showMarks(client)
      if (failures[0]) throw failures[0].error
    },
    onSuccess: () => {
      onDone?.()
      onClose()
    },
  })
  const onKeyDown = (event: KeyboardEvent) => {
    const isEnd = event.key === 'Enter' || event.key === ','
    if (!isEnd || typed === '' || event.nativeEvent.isComposing) return
    event.preventDefault()
    add(text)
  }
  const [first] = chosen
  const title = first && chosen.length === 1 ? texts.tagsOf(first.name) : texts.tagsOfMany(chosen.length)
  const offered = known.filter(({ name }) => !names.some(each => keyOf(each) === keyOf(name)))
  return (
    <FormDialog
      title={title}
      action={common.save}
      submit={{ mutate: () => save.mutate(), isPending: save.isPending, error: save.error }}
      isValid={problem === null}
      onClose={onClose}
    >
      {names.length === 0 && <p className="help">{texts.noTags}</p>}
      {names.length > 0 && (
        <ul className="tag-choice" aria-label={texts.tags}>
          {shown
            .filter(({ name }) => !added.some(each => keyOf(each) === keyOf(name)))
            .map(({ name, count }) => (
              <TagChip key={name} name={name} isPartial={count < chosen.length} onRemove={() => remove(name)} />
            ))}
          {added.map(name => (
            <TagChip key={name} name={name} isPartial={false} onRemove={() => remove(name)} />
          ))}
        </ul>
      )}
      {shown.some(({ count }) => count < chosen.length) && <p className="help">{texts.someHave}</p>}
      <div className="field">
        <label htmlFor={`${listId}-text`}>{texts.newTag}</label>
        <div className="tag-input">
          <input
            id={`${listId}-text`}
            list={listId}
            value={text}
            maxLength={maxLength + 1}
            autoComplete="off"
            aria-describedby={`${listId}-help`}
            // biome-ignore lint/a11y/noAutofocus: the dialog opens to type a tag
            autoFocus
            onChange={({ target }) => setText(target.value)}
            onKeyDown={onKeyDown}
          />
          <Button isDisabled={typed === '' || typed.length > maxLength} onPress={() => add(text)}>
            {texts.add}
          </Button>
        </div>
        <datalist id={listId}>
          {offered.map(({ name }) => (
            <option key={name} value={name} />
          ))}
        </datalist>
        <p id={`${listId}-help`} className="help">
          {problem ?? texts.newTagHelp}
        </p>
      </div>
    </FormDialog>
  )
}

function TagChip({ name, isPartial, onRemove }: { name: string; isPartial: boolean; onRemove: () => void }) {
  return (
    <li className={`tag${isPartial ? ' partial' : ''}`} data-hue={hueOf(name)}>
      <span dir="auto">{name}</span>
      <button type="button" aria-label={texts.remove(name)} onClick={onRemove}>
        <Icon name="cross" />
      </button>
    </li>
  )
}

/** Returns each tag of the entries, with the number of those that have it. */
function countTags(entries: readonly Entry[]): Map<string, { name: string; count: number }> {
  const counts = new Map<string, { name: string; count: number }>()
  for (const name of entries.flatMap(({ tags }) => tags ?? [])) {
    const counted = counts.get(keyOf(name)) ?? { name, count: 0 }
    counts.set(keyOf(name), { ...counted, count: counted.count + 1 })
  }
  return counts
}

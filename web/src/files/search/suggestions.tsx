import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { type ReactNode, type Ref, useEffect, useEffectEvent, useImperativeHandle, useState } from 'react'
import { useNavigate } from 'react-router'
import { nameOfPath, parentPath, type StorageLocation } from '../../api/locations.ts'
import { texts } from '../../texts/search.tsx'
import { errorMessage } from '../../ui/error-box.tsx'
import { Icon } from '../../ui/icons.tsx'
import { entryHref } from '../addresses.ts'
import { EntryIcon } from '../entry-icon.tsx'
import { thumbnailOf } from '../operations.ts'
import { useOpenFolder } from '../tree/open-folder.ts'
import { coverageNotes } from './coverage.ts'
import { searchHref } from './filters.ts'
import { Highlighted, Snippet } from './highlight.tsx'
import { type Found, search } from './operations.ts'
import { recentSearches } from './recent-searches.ts'

/** The keys of the search field for its suggestions. */
export interface SuggestionKeys {
  move: (by: 1 | -1) => void
  choose: () => void
}

interface Suggestion {
  key: string
  content: ReactNode
  /** Stands beside the option, because an option cannot contain another control. */
  aside?: ReactNode
  choose: () => void
}

/** Milliseconds without a key after which the search begins. */
const pause = 180
const maxSuggestions = 8

/** Returns the text after a pause. */
function useSettled(text: string): string {
  const [settled, setSettled] = useState(text)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), pause)
    return () => clearTimeout(timer)
  }, [text])
  return text === '' ? '' : settled
}

/** The list below the search field: what was found, or the searches before. */
export function Suggestions({
  ref,
  listId,
  userId,
  text,
  onActive,
  onLeave,
}: {
  ref: Ref<SuggestionKeys>
  listId: string
  userId: string
  text: string
  onActive: (id: string | null) => void
  onLeave: () => void
}) {
  const navigate = useNavigate()
  const openFolder = useOpenFolder()
  const folder = openFolder?.path === '/' ? null : openFolder
  const wanted = text.trim()
  const settled = useSettled(wanted)
  const recent = recentSearches.useItems(userId)
  const [active, setActive] = useState(-1)
  const { data, error, isFetching, isPlaceholderData } = useQuery({
    queryKey: ['search', 'suggestions', settled],
    // The request ends when the text changes, because nobody waits for it then.
    queryFn: ({ signal }) => search({ text: settled }, { first: maxSuggestions }, signal),
    enabled: settled !== '',
    placeholderData: keepPreviousData,
  })
  const go = (href: string) => {
    if (wanted !== '') recentSearches.add(userId, wanted)
    onLeave()
    void navigate(href)
  }
  const searchFor = (text: string, within: StorageLocation | null = null) => {
    recentSearches.add(userId, text)
    go(searchHref({ text, within }))
  }
  const found = wanted === '' || error ? [] : (data?.nodes ?? [])
  const options: Suggestion[] =
    wanted === ''
      ? recent.map(before => ({
          key: before,
          content: (
            <>
              <Icon name="history" />
              <span className="suggestion-name">{before}</span>
            </>
          ),
          aside: (
            <button
              type="button"
              className="icon-button"
              aria-label={texts.forget(before)}
              onMouseDown={event => event.preventDefault()}
              onClick={() => recentSearches.remove(userId, before)}
            >
              <Icon name="cross" />
            </button>
          ),
          choose: () => searchFor(before),
        }))
      : [
          ...found.map((result, index) => ({
            key: `${index} ${result.provider.id}${result.entry.path}`,
            content: <FoundEntry result={result} query={settled} />,
            choose: () => go(entryHref(result.provider.id, result.entry)),
          })),
          ...[null, folder].flatMap((within, index) =>
            index > 0 && within === null
              ? []
              : {
                  key: within === null ? 'all' : 'folder',
                  content: (
                    <>
                      <Icon name={within === null ? 'search' : 'folder'} />
                      <span className="suggestion-name">
                        {within === null ? texts.all(wanted) : texts.onlyIn(nameOfPath(within.path))}
                      </span>
                    </>
                  ),
                  choose: () => searchFor(wanted, within),
                },
          ),
        ]

  // biome-ignore lint/correctness/useExhaustiveDependencies: another text has other suggestions
  useEffect(() => setActive(-1), [wanted])
  const activeOption = options[active]
  const reportActive = useEffectEvent((id: string | null) => onActive(id))
  const activeId = activeOption ? `${listId}-${active}` : null
  useEffect(() => reportActive(activeId), [activeId])
  useEffect(() => {
    if (activeId !== null) document.getElementById(activeId)?.scrollIntoView({ block: 'nearest' })
  }, [activeId])
  useImperativeHandle(ref, () => ({
    // -1 is the text itself.
    move: by => setActive(now => ((now + 1 + by + options.length + 1) % (options.length + 1)) - 1),
    choose: () => {
      if (activeOption) activeOption.choose()
      else if (wanted !== '') searchFor(wanted)
    },
  }))

  const isWaiting = wanted !== settled || isFetching
  const status =
    wanted === ''
      ? null
      : error && !isWaiting
        ? errorMessage(error)
        : data && !isPlaceholderData && found.length === 0 && !isWaiting
          ? texts.nothing(wanted)
          : null
  const notes = wanted !== '' && data && !error ? coverageNotes(data.coverage) : []
  const isEmpty = options.length === 0
  return (
    <div className="suggestions popover" hidden={isEmpty && status === null}>
      {wanted === '' && !isEmpty && <p className="suggestion-title">{texts.recent}</p>}
      <p className="suggestion-status" role="status">
        {status}
      </p>
      <div className="suggestion-columns">
        <div id={listId} role="listbox" aria-label={texts.suggestions} aria-busy={isWaiting}>
          {options.map(({ key, content, choose }, index) => (
            // biome-ignore lint/a11y/useFocusableInteractive: the focus stays in the search field
            // biome-ignore lint/a11y/useKeyWithClickEvents: as above
            <div
              key={key}
              id={`${listId}-${index}`}
              role="option"
              aria-selected={index === active}
              className="suggestion"
              onMouseDown={event => event.preventDefault()}
              onClick={choose}
            >
              {content}
            </div>
          ))}
        </div>
        {wanted === '' && !isEmpty && (
          <div className="suggestion-asides">
            {options.map(({ key, aside }) => aside && <div key={key}>{aside}</div>)}
          </div>
        )}
      </div>
      {notes.map(note => (
        <p key={note} className="suggestion-note">
          {note}
        </p>
      ))}
    </div>
  )
}

function FoundEntry({ result: { entry, provider, snippet }, query }: { result: Found; query: string }) {
  return (
    <>
      <EntryIcon entry={entry} thumbnail={thumbnailOf(entry, 64)} />
      <span className="suggestion-text">
        <span className="suggestion-name">
          <Highlighted text={entry.name} query={query} />
        </span>
        <span className="suggestion-place">{texts.in(provider.name, parentPath(entry.path))}</span>
        {snippet !== null && (
          <span className="suggestion-place">
            <Snippet text={snippet} />
          </span>
        )}
      </span>
    </>
  )
}

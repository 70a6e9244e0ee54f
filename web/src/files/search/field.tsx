/** The search over all storages: the field in the header, its suggestions, and the page of results. */
import { type KeyboardEvent, Suspense, useEffect, useEffectEvent, useId, useRef, useState } from 'react'
import { useLocation, useNavigate, useSearchParams } from 'react-router'
import { usePermissions, useSession } from '../../api/session.ts'
import { lazyPart } from '../../lib/load-part.ts'
import { texts } from '../../texts/search.tsx'
import { Icon } from '../../ui/icons.tsx'
import { useIsPhone } from '../../ui/window-size.ts'
import { recentSearches } from './recent-searches.ts'
import type { SuggestionKeys } from './suggestions.tsx'
import './field.css'

const Suggestions = lazyPart(async () => (await import('./suggestions.tsx')).Suggestions)

/** Characters, as in the API. */
const maxSearchText = 200

const typingElements = 'input, textarea, select, [contenteditable="true"]'

/** Calls the handler for "/", unless a person is typing or a dialog is open. */
function useSlash(onSlash: () => void): void {
  const press = useEffectEvent((event: globalThis.KeyboardEvent) => {
    const { key, ctrlKey, metaKey, altKey, target } = event
    if (key !== '/' || ctrlKey || metaKey || altKey) return
    if (target instanceof Element && target.closest(typingElements)) return
    if (document.querySelector('.overlay')) return
    event.preventDefault()
    onSlash()
  })
  useEffect(() => {
    const listener = (event: globalThis.KeyboardEvent) => press(event)
    document.addEventListener('keydown', listener)
    return () => document.removeEventListener('keydown', listener)
  }, [])
}

/** Shows suggestions while a person types. On phones, a button opens the field over the header. */
export function SearchField() {
  const { canRead } = usePermissions()
  const { user } = useSession().viewer
  const { pathname } = useLocation()
  const [params] = useSearchParams()
  const navigate = useNavigate()
  const isPhone = useIsPhone()
  const listId = useId()
  /** The text of the page of results; empty elsewhere. */
  const shown = pathname === '/search' ? (params.get('text') ?? '') : ''
  const [lastShown, setLastShown] = useState(shown)
  const [text, setText] = useState(shown)
  const [isOpen, setOpen] = useState(false)
  const [isExpanded, setExpanded] = useState(false)
  const [activeId, setActiveId] = useState<string | null>(null)
  const input = useRef<HTMLInputElement>(null)
  const keys = useRef<SuggestionKeys>(null)
  if (shown !== lastShown) {
    setLastShown(shown)
    setText(shown)
  }
  const isVisible = !isPhone || isExpanded
  useSlash(() => {
    if (isPhone) setExpanded(true)
    input.current?.focus()
    input.current?.select()
  })
  useEffect(() => {
    if (isExpanded) input.current?.focus()
  }, [isExpanded])
  if (!canRead) return <div className="search" />

  const close = () => {
    setOpen(false)
    setActiveId(null)
  }
  const leave = () => {
    close()
    setText(shown)
    setExpanded(false)
    input.current?.blur()
  }
  /** A person can be faster than the code of the suggestions. */
  const searchAtOnce = () => {
    const wanted = text.trim()
    if (wanted === '') return
    recentSearches.add(user.id, wanted)
    leave()
    void navigate(`/search?${new URLSearchParams({ text: wanted })}`)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const { key } = event
    // An input method uses the same keys to choose characters.
    if (event.nativeEvent.isComposing) return
    if (key === 'Escape') {
      if (isOpen && text !== '') close()
      else leave()
    } else if (key === 'Enter') {
      if (keys.current) keys.current.choose()
      else searchAtOnce()
    } else if (key === 'ArrowDown' || key === 'ArrowUp') {
      setOpen(true)
      keys.current?.move(key === 'ArrowDown' ? 1 : -1)
    } else return
    event.preventDefault()
  }
  return (
    <>
      {isPhone && (
        <button
          type="button"
          className="icon-button search-open"
          aria-label={texts.open}
          onClick={() => setExpanded(true)}
        >
          <Icon name="search" />
        </button>
      )}
      {isVisible && (
        <search
          className={`search${isPhone ? ' over-header' : ''}`}
          onBlur={({ currentTarget, relatedTarget }) => {
            if (currentTarget.contains(relatedTarget)) return
            close()
            setExpanded(false)
          }}
        >
          <div className="search-box">
            <Icon name="search" />
            <input
              ref={input}
              type="text"
              inputMode="search"
              enterKeyHint="search"
              role="combobox"
              aria-label={texts.search}
              aria-expanded={isOpen}
              aria-controls={listId}
              aria-autocomplete="list"
              aria-activedescendant={activeId ?? undefined}
              aria-keyshortcuts="/"
              placeholder={texts.placeholder}
              maxLength={maxSearchText}
              autoComplete="off"
              spellCheck={false}
              value={text}
              onChange={({ target }) => {
                setText(target.value)
                setOpen(true)
              }}
              onFocus={() => setOpen(true)}
              onClick={() => setOpen(true)}
              onKeyDown={onKeyDown}
            />
            {text === '' ? (
              !isPhone && (
                <span className="search-key" aria-hidden="true">
                  {texts.key}
                </span>
              )
            ) : (
              <button
                type="button"
                className="icon-button"
                aria-label={texts.clear}
                onClick={() => {
                  setText('')
                  input.current?.focus()
                }}
              >
                <Icon name="cross" />
              </button>
            )}
            {isPhone && (
              <button type="button" className="icon-button" aria-label={texts.close} onClick={leave}>
                <Icon name="up" />
              </button>
            )}
          </div>
          {isOpen && (
            <Suspense>
              <Suggestions
                ref={keys}
                listId={listId}
                userId={user.id}
                text={text}
                onActive={setActiveId}
                onLeave={leave}
              />
            </Suspense>
          )}
        </search>
      )}
    </>
  )
}

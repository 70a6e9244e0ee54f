import { type ImgHTMLAttributes, useEffect, useRef, useState } from 'react'

/** The maximum number of thumbnails that a page asks for at once. */
const maxLoading = 8

let loading = 0
/** In the order in which they came. */
const waiting = new Set<() => void>()

interface Turn {
  end: () => void
  /** Ends a turn whose request the browser still has to cancel. */
  leave: () => void
}

/** Calls `begin` when it is the turn of an image. The turn, or the wait for it, has to end once. */
function takeTurn(begin: () => void): Turn {
  let state: 'waiting' | 'loading' | 'ended' = 'waiting'
  const start = () => {
    waiting.delete(start)
    state = 'loading'
    loading += 1
    begin()
  }
  const end = () => {
    waiting.delete(start)
    if (state === 'loading') loading -= 1
    state = 'ended'
    const [next] = waiting
    if (next && loading < maxLoading) next()
  }
  if (loading < maxLoading) start()
  else waiting.add(start)
  return {
    end,
    leave() {
      // Chromium cancels the request in a later task.
      if (state === 'loading') setTimeout(end)
      else end()
    },
  }
}

/** A browser finishes the request of an image that only left the page. */
function cancelWhenRemoved(image: HTMLImageElement | null) {
  return () => image?.removeAttribute('src')
}

/** An image that loads when it is its turn. The request of an image that scrolls away is canceled. Give each address its own `key`. */
export function TurnImage({
  src,
  onLoaded,
  onFailed,
  ...props
}: Omit<ImgHTMLAttributes<HTMLImageElement>, 'onLoad' | 'onError'> & {
  src: string
  onLoaded: (image: HTMLImageElement) => void
  onFailed: () => void
}) {
  const [hasTurn, setTurn] = useState(false)
  const turn = useRef<Turn>(null)
  useEffect(() => {
    const taken = takeTurn(() => setTurn(true))
    turn.current = taken
    return taken.leave
  }, [])
  if (!hasTurn) return null
  return (
    // biome-ignore lint/a11y/useAltText: the caller gives the text
    <img
      {...props}
      ref={cancelWhenRemoved}
      src={src}
      decoding="async"
      draggable={false}
      onLoad={({ currentTarget }) => {
        turn.current?.end()
        onLoaded(currentTarget)
      }}
      onError={() => {
        turn.current?.end()
        onFailed()
      }}
    />
  )
}

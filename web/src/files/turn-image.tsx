import { type ImgHTMLAttributes, useEffect, useRef, useState } from 'react'

/** The maximum number of thumbnails that a page asks for at once. */
const maxLoading = 8

let loading = 0
/** In the order in which they came. */
const waiting = new Set<() => void>()

/**
 * Calls `begin` when it is the turn of an image.
 * @returns a function that ends the turn, or the wait for it
 */
function takeTurn(begin: () => void): () => void {
  let state: 'waiting' | 'loading' | 'ended' = 'waiting'
  const start = () => {
    waiting.delete(start)
    state = 'loading'
    loading += 1
    begin()
  }
  if (loading < maxLoading) start()
  else waiting.add(start)
  return () => {
    waiting.delete(start)
    if (state === 'loading') loading -= 1
    state = 'ended'
    const [next] = waiting
    if (next && loading < maxLoading) next()
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
  const end = useRef(() => {})
  useEffect(() => {
    end.current = takeTurn(() => setTurn(true))
    return () => end.current()
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
        end.current()
        onLoaded(currentTarget)
      }}
      onError={() => {
        end.current()
        onFailed()
      }}
    />
  )
}

import { useSyncExternalStore } from 'react'

/** Returns a hook that tells whether the window matches. The style sheets use the same query. */
function mediaHook(query: string): () => boolean {
  const list = matchMedia(query)
  const subscribe = (listener: () => void) => {
    list.addEventListener('change', listener)
    return () => list.removeEventListener('change', listener)
  }
  return () => useSyncExternalStore(subscribe, () => list.matches)
}

/** Returns whether the window is as narrow as a phone. */
export const useIsPhone = mediaHook('(max-width: 40rem)')

/** Returns whether the window is as low as a phone that is held sideways, or as a small screen at a zoom of 200 %. */
export const useIsLow = mediaHook('(max-height: 32rem)')

/** Returns whether the window has the bar of a phone at its end, for which a low window has no room. */
export const useHasBottomBar = mediaHook('(max-width: 40rem) and (min-height: 32.01rem)')

/** Returns whether the window has room for a panel on both sides of the content. */
export const useIsRoomy = mediaHook('(min-width: 75rem) and (min-height: 32.01rem)')

/** Returns whether the window has room for the navigation beside the content. */
export const useIsWide = mediaHook('(min-width: 64rem)')

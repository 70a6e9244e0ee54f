import { useSyncExternalStore } from 'react'

/** The style sheets use the same width. */
const query = matchMedia('(max-width: 40rem)')
const subscribe = (listener: () => void) => {
  query.addEventListener('change', listener)
  return () => query.removeEventListener('change', listener)
}

/** Returns whether the window is as narrow as a phone. */
export function useIsPhone(): boolean {
  return useSyncExternalStore(subscribe, () => query.matches)
}

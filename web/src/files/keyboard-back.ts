import { type RefObject, useEffect } from 'react'

/**
 * What lies above the page gives the keyboard back to where it came from. Where that has gone meanwhile, as an item of a
 * menu or a renamed row, `home` takes it.
 */
export function useKeyboardBack(isCovered: boolean, home: RefObject<HTMLElement | null>): void {
  useEffect(() => {
    if (!isCovered) return
    return () => {
      requestAnimationFrame(() => {
        // The library gives it back in the frame before.
        requestAnimationFrame(() => {
          if (document.activeElement === document.body) home.current?.focus({ preventScroll: true })
        })
      })
    }
  }, [isCovered, home])
}

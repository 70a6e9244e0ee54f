import { type RefObject, useEffect } from 'react'

/**
 * Returns the focus to `fallback` after a dialog or menu closes, if the element that had the focus no longer exists, such
 * as a menu entry or a renamed row. In all other cases the component library returns the focus itself.
 */
export function useFocusReturn(isCovered: boolean, fallback: RefObject<HTMLElement | null>): void {
  useEffect(() => {
    if (!isCovered) return
    return () => {
      // The library returns the focus in the next frame, so the check waits for the frame after it.
      requestAnimationFrame(() => {
        requestAnimationFrame(() => {
          if (document.activeElement === document.body) fallback.current?.focus({ preventScroll: true })
        })
      })
    }
  }, [isCovered, fallback])
}

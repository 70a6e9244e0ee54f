import { type RefObject, useEffect } from 'react'

const maxFrames = 30

/**
 * Returns the focus to `fallback` after a dialog or menu closes, if the element that had the focus no longer exists, such
 * as a menu entry or a renamed row. In all other cases the component library returns the focus itself.
 */
export function useFocusReturn(isCovered: boolean, fallback: RefObject<HTMLElement | null>): void {
  useEffect(() => {
    if (!isCovered) return
    return () => {
      // The library returns the focus in the next frame, so the check waits for the frame after it. On a busy page, elements
      // outside of the dialog accept the focus only some frames later.
      let frames = 0
      const check = () => {
        frames += 1
        const isLost = document.activeElement === document.body
        if (frames > 1 && isLost) fallback.current?.focus({ preventScroll: true })
        if (frames <= 2 || (isLost && frames < maxFrames)) requestAnimationFrame(check)
      }
      requestAnimationFrame(check)
    }
  }, [isCovered, fallback])
}

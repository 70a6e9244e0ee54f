import type { TouchEvent } from 'react'
import { useRef } from 'react'
import { lineStep } from '../../texts/languages.ts'

/** Pixels. */
const swipeWidth = 60

/** Returns whether a movement to the side at this element does something else, such as moving a photo or the cursor. */
function isTaken(target: EventTarget | null, stage: Element): boolean {
  if (!(target instanceof Element)) return true
  if (target.closest('[data-pans], input, textarea, audio, video, [role="slider"]')) return true
  for (let at: Element | null = target; at && at !== stage; at = at.parentElement) {
    if (at.scrollWidth > at.clientWidth && /auto|scroll/.test(getComputedStyle(at).overflowX)) return true
  }
  return false
}

/** Returns the listeners of an element that a finger moves aside. @param onSwipe called with 1 for the next one, and with -1 */
export function useSwipe(onSwipe: (direction: 1 | -1) => void) {
  const begin = useRef<{ x: number; y: number } | null>(null)
  return {
    onTouchStart: ({ touches, target, currentTarget }: TouchEvent) => {
      const touch = touches[0]
      const isScaled = (visualViewport?.scale ?? 1) > 1
      const isPossible = touch && touches.length === 1 && !isScaled && !isTaken(target, currentTarget)
      begin.current = isPossible ? { x: touch.clientX, y: touch.clientY } : null
    },
    onTouchEnd: ({ changedTouches }: TouchEvent) => {
      const touch = changedTouches[0]
      const from = begin.current
      begin.current = null
      if (!from || !touch) return
      const [x, y] = [touch.clientX - from.x, touch.clientY - from.y]
      if (Math.abs(x) > swipeWidth && Math.abs(x) > 2 * Math.abs(y)) onSwipe(x * lineStep < 0 ? 1 : -1)
    },
    onTouchCancel: () => {
      begin.current = null
    },
  }
}

/** How the mouse and fingers select entries. */
import {
  type MouseEvent,
  type PointerEvent as ReactPointerEvent,
  type RefObject,
  useCallback,
  useEffect,
  useRef,
} from 'react'
import type { PickMode } from './selection.ts'

/** Milliseconds. */
const holdTime = 500
/** Pixels that a finger may move meanwhile. */
const tolerance = 10

/**
 * Returns the handlers of an element that reacts to a long press with a finger. Some browsers report one as a context menu,
 * possibly before the time is over, and some end it with a click.
 */
export function useLongPress(onHold: () => void) {
  const press = useRef<{ x: number; y: number; timer: number } | null>(null)
  const wasHeld = useRef(false)
  const cancel = () => {
    clearTimeout(press.current?.timer)
    press.current = null
  }
  useEffect(() => () => clearTimeout(press.current?.timer), [])
  const hold = () => {
    if (!press.current) return
    cancel()
    wasHeld.current = true
    navigator.vibrate?.(10)
    onHold()
  }
  return {
    onPointerDown({ pointerType, clientX, clientY }: ReactPointerEvent) {
      cancel()
      wasHeld.current = false
      if (pointerType === 'touch') press.current = { x: clientX, y: clientY, timer: window.setTimeout(hold, holdTime) }
    },
    onPointerMove({ clientX, clientY }: ReactPointerEvent) {
      if (press.current && Math.hypot(clientX - press.current.x, clientY - press.current.y) > tolerance) cancel()
    },
    onPointerUp: cancel,
    onPointerCancel: cancel,
    onContextMenu(event: MouseEvent) {
      event.preventDefault()
      hold()
    },
    onClickCapture(event: MouseEvent) {
      if (!wasHeld.current) return
      wasHeld.current = false
      event.preventDefault()
      event.stopPropagation()
    },
  }
}

/** Returns the handlers of a view whose entries are selected and have a menu. The view keeps the focus, not its entries. */
export function useEntryPointer(
  view: RefObject<HTMLElement | null>,
  pick: (index: number, mode: PickMode) => void,
  onMenu: (index: number, at: { x: number; y: number }) => void,
) {
  const onPick = useCallback(
    (index: number, mode: PickMode) => {
      pick(index, mode)
      view.current?.focus({ preventScroll: true })
    },
    [view, pick],
  )
  const onContextMenu = useCallback(
    (index: number, event: MouseEvent) => {
      event.preventDefault()
      view.current?.focus({ preventScroll: true })
      onMenu(index, { x: event.clientX, y: event.clientY })
    },
    [view, onMenu],
  )
  return { onPick, onContextMenu }
}

/** Returns what a click with these keys selects. */
export const pickModeOf = ({ shiftKey, ctrlKey, metaKey }: MouseEvent): PickMode =>
  shiftKey ? 'range' : ctrlKey || metaKey ? 'toggle' : 'only'

/** A tap opens an entry. A long press selects the first one, and further taps select more. */
export const isTouch = ({ nativeEvent }: MouseEvent) =>
  nativeEvent instanceof PointerEvent && nativeEvent.pointerType === 'touch'

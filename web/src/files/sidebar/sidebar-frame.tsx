import { lazy, Suspense, useSyncExternalStore } from 'react'
import { Dialog, Modal, ModalOverlay } from 'react-aria-components'
import { loadPart } from '../../api/load-part.ts'
import type { StorageLocation } from '../../api/paths.ts'
import { texts } from '../../texts/files.tsx'
import type { Provider } from '../operations.ts'

const Sidebar = lazy(async () => ({ default: (await loadPart(import('./sidebar.tsx'))).Sidebar }))

/** Shows the sidebar beside the files, or over them in a narrow window. */
export function SidebarFrame({ providers, current }: { providers: readonly Provider[]; current: StorageLocation }) {
  const { isOpen, isDocked, set } = useSidebar()
  if (!isOpen) return null
  if (isDocked) {
    return (
      <Suspense fallback={<div className="sidebar" />}>
        <Sidebar providers={providers} current={current} onOpen={() => {}} />
      </Suspense>
    )
  }
  return (
    <ModalOverlay isOpen isDismissable onOpenChange={set} className="overlay drawer-overlay">
      <Modal className="drawer">
        <Dialog aria-label={texts.sidebar}>
          <Suspense>
            <Sidebar providers={providers} current={current} onOpen={() => set(false)} />
          </Suspense>
        </Dialog>
      </Modal>
    </ModalOverlay>
  )
}

/** Beside the files from this width; below it, the sidebar covers them. */
const dockable = matchMedia('(min-width: 64rem)')
/** Windows of this width have room for the sidebar from the start. */
const roomy = matchMedia('(min-width: 90rem)')
const storageKey = 'stowage.sidebar'

/** The choice of the person for wide windows; null if nothing yet. */
let choice = readChoice()
let isDrawerOpen = false
let version = 0
const listeners = new Set<() => void>()

function update(): void {
  version += 1
  for (const listener of listeners) listener()
}

function subscribe(listener: () => void): () => void {
  if (listeners.size === 0) for (const query of [dockable, roomy]) query.addEventListener('change', update)
  listeners.add(listener)
  return () => {
    listeners.delete(listener)
    if (listeners.size === 0) for (const query of [dockable, roomy]) query.removeEventListener('change', update)
  }
}

function readChoice(): 'open' | 'closed' | null {
  try {
    const stored = localStorage.getItem(storageKey)
    return stored === 'open' || stored === 'closed' ? stored : null
  } catch {
    return null
  }
}

function set(isOpen: boolean): void {
  if (dockable.matches) {
    choice = isOpen ? 'open' : 'closed'
    try {
      localStorage.setItem(storageKey, choice)
    } catch {
      // The choice lasts until the page is closed.
    }
  } else isDrawerOpen = isOpen
  update()
}

/** Whether the sidebar is open, which this browser remembers for wide windows. */
export function useSidebar() {
  useSyncExternalStore(subscribe, () => version)
  const isDocked = dockable.matches
  const isOpen = isDocked ? (choice === null ? roomy.matches : choice === 'open') : isDrawerOpen
  return { isOpen, isDocked, set }
}

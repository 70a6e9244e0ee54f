import { Suspense } from 'react'
import { Dialog, Modal, ModalOverlay } from 'react-aria-components'
import type { StorageLocation } from '../../api/locations.ts'
import { lazyPart } from '../../lib/load-part.ts'
import { recall, remember } from '../../lib/local-storage.ts'
import { Notifier, useNotified } from '../../lib/notifier.ts'
import { texts } from '../../texts/files.tsx'
import { useIsVeryWide, useIsWide } from '../../ui/window-size.ts'
import type { Provider } from '../operations.ts'

const Sidebar = lazyPart(async () => (await import('./sidebar.tsx')).Sidebar)

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

const storageKey = 'stowage.sidebar'

const stored = recall(storageKey)

/** The choice of the person for wide windows; null if there is none yet. */
let choice: 'open' | 'closed' | null = stored === 'open' || stored === 'closed' ? stored : null
let isDrawerOpen = false
const changes = new Notifier()

/** Whether the sidebar is open, which this browser remembers for wide windows. In others it is a drawer over the files. */
export function useSidebar() {
  const chosen = useNotified(changes, () => ({ choice, isDrawerOpen }))
  const isDocked = useIsWide()
  const isVeryWide = useIsVeryWide()
  const set = (isOpen: boolean) => {
    if (isDocked) {
      choice = isOpen ? 'open' : 'closed'
      remember(storageKey, choice)
    } else isDrawerOpen = isOpen
    changes.notify()
  }
  const isOpen = !isDocked ? chosen.isDrawerOpen : chosen.choice === null ? isVeryWide : chosen.choice === 'open'
  return { isOpen, isDocked, set }
}

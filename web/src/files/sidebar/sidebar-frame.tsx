import { lazy, Suspense } from 'react'
import { Dialog, Modal, ModalOverlay } from 'react-aria-components'
import { loadPart } from '../../api/load-part.ts'
import type { StorageLocation } from '../../api/paths.ts'
import { texts } from '../../texts/files.tsx'
import type { Provider } from '../operations.ts'
import { useSidebar } from './state.ts'

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

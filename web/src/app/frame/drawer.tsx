import { Dialog, Modal, ModalOverlay } from 'react-aria-components'
import { texts } from '../../texts/app.tsx'
import { SideNav } from './side-nav.tsx'

/** The navigation over the page, for windows that have no room beside it. */
export function Drawer({ onClose }: { onClose: () => void }) {
  return (
    <ModalOverlay
      isOpen
      isDismissable
      onOpenChange={isOpen => {
        if (!isOpen) onClose()
      }}
      className="overlay drawer-overlay"
    >
      <Modal className="drawer">
        <Dialog aria-label={texts.menu}>
          <SideNav onGo={onClose} />
        </Dialog>
      </Modal>
    </ModalOverlay>
  )
}

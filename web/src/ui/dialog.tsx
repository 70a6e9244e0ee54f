import type { ReactNode } from 'react'
import { Dialog as AriaDialog, Heading, Modal, ModalOverlay } from 'react-aria-components'

/** A dialog that is open while it is rendered. Escape or a press outside closes it, except while `isBusy`. */
export function Dialog({
  title,
  children,
  onClose,
  isBusy = false,
  role = 'dialog',
  size = 'small',
}: {
  title: string
  children: ReactNode
  onClose: () => void
  isBusy?: boolean
  role?: 'dialog' | 'alertdialog'
  size?: 'small' | 'large'
}) {
  return (
    <ModalOverlay
      isOpen
      isDismissable={!isBusy && role === 'dialog'}
      isKeyboardDismissDisabled={isBusy}
      onOpenChange={isOpen => {
        if (!isOpen) onClose()
      }}
      className="overlay"
    >
      <Modal className={`modal ${size}`}>
        <AriaDialog role={role} className="dialog">
          <Heading slot="title">{title}</Heading>
          {children}
        </AriaDialog>
      </Modal>
    </ModalOverlay>
  )
}

import type { ReactNode } from 'react'
import {
  Button,
  Text,
  UNSTABLE_Toast as Toast,
  UNSTABLE_ToastContent as ToastContent,
  UNSTABLE_ToastQueue as ToastQueue,
  UNSTABLE_ToastRegion as ToastRegion,
} from 'react-aria-components'
import { texts } from '../texts/ui.ts'
import { Details, errorDetails, errorMessage } from './error-box.tsx'

interface Message {
  text: ReactNode
  /** The details that an administrator needs to find an error in the log. */
  details: string | null
  action: ToastAction | null
}

interface ToastAction {
  label: string
  run: () => void
}

const queue = new ToastQueue<Message>({ maxVisibleToasts: 3 })

/** Confirms that something was done. Errors belong beside the control that caused them. */
export function notify(text: ReactNode, action: ToastAction | null = null): void {
  queue.add({ text, details: null, action }, { timeout: action ? 10_000 : 5000 })
}

/** Shows an error that belongs to no control on the page. It stays until it is dismissed. */
export function notifyError(error: unknown): void {
  queue.add({ text: errorMessage(error), details: errorDetails(error), action: null })
}

export function Toasts() {
  return (
    <ToastRegion queue={queue} className="toasts" aria-label={texts.notifications}>
      {({ toast }) => (
        <Toast toast={toast} className="toast">
          <ToastContent>
            <Text slot="title">{toast.content.text}</Text>
            {toast.content.details && (
              <Text slot="description">
                <Details>{toast.content.details}</Details>
              </Text>
            )}
          </ToastContent>
          {toast.content.action && (
            <Button
              slot={null}
              className="button"
              onPress={() => {
                queue.close(toast.key)
                toast.content.action?.run()
              }}
            >
              {toast.content.action.label}
            </Button>
          )}
          <Button slot="close" aria-label={texts.dismiss} className="button quiet">
            ×
          </Button>
        </Toast>
      )}
    </ToastRegion>
  )
}

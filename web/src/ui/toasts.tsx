import {
  Button,
  Text,
  UNSTABLE_Toast as Toast,
  UNSTABLE_ToastContent as ToastContent,
  UNSTABLE_ToastQueue as ToastQueue,
  UNSTABLE_ToastRegion as ToastRegion,
} from 'react-aria-components'

const queue = new ToastQueue<string>({ maxVisibleToasts: 3 })

/** A word about something that was done; failures are shown where they happened. */
export function tell(message: string): void {
  queue.add(message, { timeout: 5000 })
}

export function Toasts() {
  return (
    <ToastRegion queue={queue} className="toasts" aria-label="Messages">
      {({ toast }) => (
        <Toast toast={toast} className="toast">
          <ToastContent>
            <Text slot="title">{toast.content}</Text>
          </ToastContent>
          <Button slot="close" aria-label="Dismiss" className="button quiet">
            ×
          </Button>
        </Toast>
      )}
    </ToastRegion>
  )
}

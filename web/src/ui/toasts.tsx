import {
  Button,
  Text,
  UNSTABLE_Toast as Toast,
  UNSTABLE_ToastContent as ToastContent,
  UNSTABLE_ToastQueue as ToastQueue,
  UNSTABLE_ToastRegion as ToastRegion,
} from 'react-aria-components'
import { errorFacts } from './error-box.tsx'

interface Message {
  text: string
  /** What an administrator needs to find it in the log. */
  facts: string | null
}

const queue = new ToastQueue<Message>({ maxVisibleToasts: 3 })

/** A word about something that was done; failures are shown where they happened. */
export function tell(text: string): void {
  queue.add({ text, facts: null }, { timeout: 5000 })
}

/** A failure of something that has no place of its own on the page; it stays until it is dismissed. */
export function tellError(error: unknown): void {
  queue.add({ text: error instanceof Error ? error.message : String(error), facts: errorFacts(error) })
}

export function Toasts() {
  return (
    <ToastRegion queue={queue} className="toasts" aria-label="Messages">
      {({ toast }) => (
        <Toast toast={toast} className="toast">
          <ToastContent>
            <Text slot="title">{toast.content.text}</Text>
            {toast.content.facts && (
              <Text slot="description" className="error-facts">
                {toast.content.facts}
              </Text>
            )}
          </ToastContent>
          <Button slot="close" aria-label="Dismiss" className="button quiet">
            ×
          </Button>
        </Toast>
      )}
    </ToastRegion>
  )
}

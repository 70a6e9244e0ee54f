import { useEffect, useState } from 'react'
import { Button } from './button.tsx'

/** Copies a text, and says so for a moment. */
export function CopyButton({ text, label = 'Copy' }: { text: string; label?: string }) {
  const [outcome, setOutcome] = useState<'copied' | 'failed' | null>(null)
  useEffect(() => {
    if (outcome === null) return
    const timer = setTimeout(() => setOutcome(null), 3000)
    return () => clearTimeout(timer)
  }, [outcome])
  const copy = async () => setOutcome((await toClipboard(text)) ? 'copied' : 'failed')
  return (
    <>
      <Button onPress={copy}>{outcome === 'copied' ? 'Copied' : label}</Button>
      <span className="visually-hidden" role="status">
        {outcome === 'copied' && 'Copied to the clipboard'}
      </span>
      {outcome === 'failed' && (
        <span className="field-error" role="alert">
          The browser did not allow it: select the text and copy it yourself.
        </span>
      )}
    </>
  )
}

/** Without HTTPS, browsers give pages no clipboard (W3C Clipboard API); the older command still works there. */
async function toClipboard(text: string): Promise<boolean> {
  if (navigator.clipboard) {
    return navigator.clipboard.writeText(text).then(
      () => true,
      () => false,
    )
  }
  const catcher = (event: ClipboardEvent) => {
    event.preventDefault()
    event.clipboardData?.setData('text/plain', text)
  }
  // Before the focus trap of a dialog sees it.
  document.addEventListener('copy', catcher, { capture: true, once: true })
  const done = document.execCommand('copy')
  document.removeEventListener('copy', catcher, { capture: true })
  return done
}

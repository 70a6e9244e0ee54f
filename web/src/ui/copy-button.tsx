import { useEffect, useState } from 'react'
import { texts } from '../texts/ui.ts'
import { Button } from './button.tsx'

/** Copies a text and confirms it for three seconds. */
export function CopyButton({ text, label = texts.copy }: { text: string; label?: string }) {
  const [outcome, setOutcome] = useState<'copied' | 'failed' | null>(null)
  useEffect(() => {
    if (outcome === null) return
    const timer = setTimeout(() => setOutcome(null), 3000)
    return () => clearTimeout(timer)
  }, [outcome])
  const copy = async () => setOutcome((await toClipboard(text)) ? 'copied' : 'failed')
  return (
    <>
      <Button onPress={copy}>{outcome === 'copied' ? texts.copied : label}</Button>
      <span className="visually-hidden" role="status">
        {outcome === 'copied' && texts.copiedStatus}
      </span>
      {outcome === 'failed' && (
        <span className="field-error" role="alert">
          {texts.copyRefused}
        </span>
      )}
    </>
  )
}

/** Browsers offer the Clipboard API (W3C) only over HTTPS. The older command works without it. */
async function toClipboard(text: string): Promise<boolean> {
  if (navigator.clipboard) {
    return navigator.clipboard.writeText(text).then(
      () => true,
      () => false,
    )
  }
  const onCopy = (event: ClipboardEvent) => {
    event.preventDefault()
    event.clipboardData?.setData('text/plain', text)
  }
  // Capturing lets this listener run before the focus trap of a dialog.
  document.addEventListener('copy', onCopy, { capture: true, once: true })
  const isCopied = document.execCommand('copy')
  document.removeEventListener('copy', onCopy, { capture: true })
  return isCopied
}

import { recall, remember } from '../lib/local-storage.ts'
import { Notifier, useNotified } from '../lib/notifier.ts'

/** The colors of the console: those of the system, or the choice of the person for this browser. */
export type Theme = 'system' | 'light' | 'dark'

const storageKey = 'stowage.theme'
const changes = new Notifier()
const stored = recall(storageKey)
let theme: Theme = stored === 'light' || stored === 'dark' ? stored : 'system'

/** Applies the choice to the page. Call this before anything is shown. */
export function applyTheme(): void {
  if (theme === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme
  // The bars of the browser around the page follow, too.
  for (const meta of document.querySelectorAll<HTMLMetaElement>('meta[name="theme-color"]')) {
    const { of } = meta.dataset
    meta.media = theme === 'system' ? `(prefers-color-scheme: ${of})` : theme === of ? 'all' : 'not all'
  }
}

export function setTheme(chosen: Theme): void {
  theme = chosen
  remember(storageKey, chosen)
  applyTheme()
  changes.notify()
}

export function useTheme(): Theme {
  return useNotified(changes, () => theme)
}

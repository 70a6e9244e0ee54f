import { Notifier, useNotified } from '../lib/notifier.ts'

/** An event of Chromium: https://wicg.github.io/manifest-incubations/#beforeinstallpromptevent-interface */
interface InstallOffer extends Event {
  prompt(): Promise<unknown>
}

let offer: InstallOffer | null = null
const changes = new Notifier()

function set(next: InstallOffer | null): void {
  offer = next
  changes.notify()
}

/** Keeps the offer of the browser to install the console. Call this before anything is shown, because it comes once. */
export function awaitInstallOffer(): void {
  addEventListener('beforeinstallprompt', event => {
    // Without this, Chromium on Android shows a bar of its own.
    event.preventDefault()
    set(event as InstallOffer)
  })
  addEventListener('appinstalled', () => set(null))
}

/** Returns what installs the console; null in a browser that does not offer it, or where the console is installed. */
export function useInstall(): (() => void) | null {
  const present = useNotified(changes, () => offer)
  if (!present) return null
  return () => {
    // An offer can be used once. The browser makes another one if the person declines.
    set(null)
    present.prompt().catch(() => {})
  }
}

import { useEffect } from 'react'
import { useNavigate } from 'react-router'
import { canKeep, keptCacheOf, keptCaches, registerWorker } from '../api/device.ts'
import { keptPush } from '../api/push-device.ts'
import { loadPart } from '../lib/load-part.ts'
import { language } from '../texts/languages.ts'

/** Milliseconds after the page is shown. What the person came for loads first. */
const delay = 3000

/** The development server builds no worker. */
const hasWorker = canKeep && import.meta.env.PROD

/** Gets notifications in this session, too, in a browser that got them in an earlier one. */
async function renew(): Promise<void> {
  const { renewPush } = await loadPart(import('../api/push.ts'))
  await renewPush()
}

/** Keeps the console on this device for the time without a network, and keeps the files there like those of the server. */
export function useDevice(userId: string | undefined): void {
  useEffect(() => {
    if (!hasWorker || userId === undefined) return
    const cacheName = keptCacheOf(userId)
    const compare = async () => {
      if (!(await keptCaches()).includes(cacheName)) return
      const { compareKept } = await loadPart(import('../files/offline/kept-files.ts'))
      await compareKept(cacheName)
    }
    // Nobody waits for it, and the next page or network tries again.
    const compareQuietly = () => void compare().catch(() => {})
    const timer = setTimeout(() => {
      registerWorker(language).catch(() => {})
      compareQuietly()
      if (keptPush()?.userId === userId) void renew().catch(() => {})
    }, delay)
    addEventListener('online', compareQuietly)
    return () => {
      clearTimeout(timer)
      removeEventListener('online', compareQuietly)
    }
  }, [userId])
}

/** Tells the service worker that this tab can open pages, and goes to that of a notification that the person has pressed. */
export function useNotificationPages(): void {
  const navigate = useNavigate()
  useEffect(() => {
    if (!hasWorker) return
    const onMessage = ({ data, ports }: MessageEvent<{ isThere?: true; open?: string }>) => {
      if (data.isThere) ports[0]?.postMessage(null)
      if (data.open?.startsWith('/')) void navigate(data.open)
    }
    navigator.serviceWorker.addEventListener('message', onMessage)
    return () => navigator.serviceWorker.removeEventListener('message', onMessage)
  }, [navigate])
}

import { useEffect } from 'react'
import { urlOf } from '../api/client.ts'
import { canKeep, keptCacheOf, keptCaches } from '../api/device.ts'
import { loadPart } from '../lib/load-part.ts'
import { language } from '../texts/languages.ts'

/** Milliseconds after the page is shown. What the person came for loads first. */
const delay = 3000

/** The development server builds no worker. */
const hasWorker = canKeep && import.meta.env.PROD

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
      const worker = urlOf(`/service-worker.js?language=${language}`)
      navigator.serviceWorker.register(worker, { scope: urlOf('/'), updateViaCache: 'none' }).catch(() => {})
      compareQuietly()
    }, delay)
    addEventListener('online', compareQuietly)
    return () => {
      clearTimeout(timer)
      removeEventListener('online', compareQuietly)
    }
  }, [userId])
}

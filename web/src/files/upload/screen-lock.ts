import { useEffect } from 'react'

/** Keeps the screen of the device on while something runs that would stop with it: https://www.w3.org/TR/screen-wake-lock/ */
export function useScreenLock(isNeeded: boolean): void {
  useEffect(() => {
    // Browsers offer it only over HTTPS, or on the same computer.
    if (!isNeeded || !('wakeLock' in navigator)) return
    let isOver = false
    let isAsking = false
    let lock: WakeLockSentinel | null = null
    const request = async () => {
      if (document.visibilityState !== 'visible' || isAsking || (lock && !lock.released)) return
      isAsking = true
      // A device that saves energy refuses it.
      const next = await navigator.wakeLock.request('screen').catch(() => null)
      isAsking = false
      if (isOver) await next?.release()
      else lock = next
    }
    void request()
    // Browsers release the lock of a page that nobody sees.
    document.addEventListener('visibilitychange', request)
    return () => {
      isOver = true
      document.removeEventListener('visibilitychange', request)
      void lock?.release()
    }
  }, [isNeeded])
}

import { useCallback, useState } from 'react'
import { recall, remember } from '../../lib/local-storage.ts'
import { useIsRoomy } from '../../ui/window-size.ts'

const storageKey = 'stowage.details'

/** Whether the panel of details is open, which this browser remembers. Smaller windows have no room for it. */
export function useDetailsPanel() {
  const hasRoom = useIsRoomy()
  const [isWanted, setWanted] = useState(() => recall(storageKey) === 'open')
  const set = useCallback((isOpen: boolean) => {
    setWanted(isOpen)
    remember(storageKey, isOpen ? 'open' : 'closed')
  }, [])
  return { hasRoom, isOpen: hasRoom && isWanted, set }
}

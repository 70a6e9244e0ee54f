import { useEffect, useEffectEvent } from 'react'
import { Notifier, useNotified } from '../../lib/notifier.ts'
import type { FileSelection } from '../upload/choose-files.tsx'

/** How the open folder takes files, and creates files and folders. */
export interface CreationOffer {
  onFiles: (files: FileSelection) => void
  onNewFile: () => void
  onNewFolder: () => void
}

let offer: CreationOffer | null = null
const changes = new Notifier()

/** Tells the large button of phones about the open folder, as long as it is open and accepts files. */
export function useOfferCreation(isPossible: boolean, { onFiles, onNewFile, onNewFolder }: CreationOffer): void {
  const files = useEffectEvent(onFiles)
  const newFile = useEffectEvent(onNewFile)
  const newFolder = useEffectEvent(onNewFolder)
  useEffect(() => {
    if (!isPossible) return
    const own: CreationOffer = {
      onFiles: selection => files(selection),
      onNewFile: () => newFile(),
      onNewFolder: () => newFolder(),
    }
    offer = own
    changes.notify()
    return () => {
      if (offer === own) offer = null
      changes.notify()
    }
  }, [isPossible])
}

export function useCreationOffer(): CreationOffer | null {
  return useNotified(changes, () => offer)
}

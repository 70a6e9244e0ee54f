import { Suspense, useEffect, useState } from 'react'
import { onConfirmationNeeded } from '../../api/client.ts'
import { lazyPart } from '../../lib/load-part.ts'

const ConfirmIdentity = lazyPart(async () => (await import('../../account/confirm-identity.tsx')).ConfirmIdentity)

/** Asks the person to confirm who they are when the server wants it for a change. Changes at the same time wait for one answer. */
export function Confirmations() {
  const [end, setEnd] = useState<((isConfirmed: boolean) => void) | null>(null)
  useEffect(() => {
    let asking: Promise<boolean> | null = null
    onConfirmationNeeded(() => {
      asking ??= new Promise(resolve =>
        setEnd(() => (isConfirmed: boolean) => {
          asking = null
          setEnd(null)
          resolve(isConfirmed)
        }),
      )
      return asking
    })
    return () => onConfirmationNeeded(null)
  }, [])
  return (
    end && (
      <Suspense>
        <ConfirmIdentity onEnd={end} />
      </Suspense>
    )
  )
}

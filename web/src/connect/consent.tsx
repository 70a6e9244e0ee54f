import { useMutation, useQuery } from '@tanstack/react-query'
import { useEffect, useEffectEvent, useState } from 'react'
import { ask } from '../api/request.ts'
import { Button } from '../ui/button.tsx'
import { CopyButton } from '../ui/copy-button.tsx'
import { ErrorBox } from '../ui/error-box.tsx'
import { AuthorizeMutation, ProviderStatusQuery } from './operations.ts'

/** Milliseconds between looks whether the consent has come back. */
const interval = 2000

/**
 * The person gives consent in another tab, opened by a link of their own press, which no browser blocks; this one waits.
 * `startUrl` is null where the consent has yet to be begun.
 */
export function Consent({
  providerId,
  vendor,
  startUrl,
  onConnected,
}: {
  providerId: string
  vendor: string
  startUrl: string | null
  onConnected: () => void
}) {
  const [url, setUrl] = useState(startUrl)
  const [isOpened, setOpened] = useState(false)
  const begin = useMutation({
    mutationFn: () => ask(AuthorizeMutation, { id: providerId }),
    onSuccess: ({ authorizeProvider }) => {
      setUrl(authorizeProvider.authorizationUrl)
      setOpened(false)
    },
  })
  const status = useQuery({
    queryKey: ['providers', providerId, 'consent'],
    queryFn: ({ signal }) => ask(ProviderStatusQuery, { id: providerId }, { signal }),
    refetchInterval: interval,
    refetchIntervalInBackground: true,
    staleTime: 0,
  })
  const isConnected = status.data?.provider.status === 'CONNECTED'
  const connected = useEffectEvent(onConnected)
  useEffect(() => {
    if (isConnected) connected()
  }, [isConnected])
  return (
    <div className="stack">
      <p>
        A new tab shows who asks for which files, and then {vendor} asks you to agree. This page continues by itself
        once you have agreed. You have ten minutes. To use the files of somebody else, send them the address.
      </p>
      {url === null ? (
        <Button variant="primary" onPress={() => begin.mutate()} isPending={begin.isPending}>
          Begin
        </Button>
      ) : (
        <div className="row-of">
          <a
            className={`button ${isOpened ? '' : 'primary'}`}
            href={url}
            target="_blank"
            rel="noopener noreferrer"
            onClick={() => setOpened(true)}
          >
            Continue to {vendor}
          </a>
          <CopyButton text={url} label="Copy the address" />
        </div>
      )}
      {isOpened && (
        <div className="notice" role="status">
          <p>
            <span className="spinner inline" aria-hidden="true" /> Waiting for your consent …
          </p>
          <p className="help">
            No tab was opened, or it was closed? Press the link again, or copy the address into a new tab. If it says
            that the request has expired or was refused, start again.
          </p>
          <Button onPress={() => begin.mutate()} isPending={begin.isPending}>
            Start again
          </Button>
        </div>
      )}
      {begin.error && <ErrorBox error={begin.error} />}
      {status.error && <ErrorBox error={status.error} retry={status.refetch} />}
    </div>
  )
}

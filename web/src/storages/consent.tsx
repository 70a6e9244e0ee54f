import { useMutation, useQuery } from '@tanstack/react-query'
import { useEffect, useEffectEvent, useState } from 'react'
import { queryKeys } from '../api/query-keys.ts'
import { ask } from '../api/request.ts'
import { Button } from '../ui/button.tsx'
import { CopyButton } from '../ui/copy-button.tsx'
import { ErrorBox } from '../ui/error-box.tsx'
import { AuthorizeMutation, ProviderStatusQuery } from './operations.ts'

/** Milliseconds between checks whether consent was given. */
const pollInterval = 2000

/**
 * Waits while a person gives consent in another tab. They open that tab with a link, because browsers block tabs that a
 * script opens. `startUrl` is null if the consent has not been requested yet.
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
  const start = useMutation({
    mutationFn: () => ask(AuthorizeMutation, { id: providerId }),
    onSuccess: ({ authorizeProvider }) => {
      setUrl(authorizeProvider.authorizationUrl)
      setOpened(false)
    },
  })
  const status = useQuery({
    queryKey: [...queryKeys.providers, providerId, 'consent'],
    queryFn: ({ signal }) => ask(ProviderStatusQuery, { id: providerId }, { signal }),
    refetchInterval: pollInterval,
    refetchIntervalInBackground: true,
    staleTime: 0,
  })
  const isConnected = status.data?.provider.status === 'CONNECTED'
  const notifyConnected = useEffectEvent(onConnected)
  useEffect(() => {
    if (isConnected) notifyConnected()
  }, [isConnected])
  return (
    <div className="stack">
      <p>
        A new tab shows who requests access to which files, and then {vendor} asks for your consent. This page continues
        by itself once you agree. The link expires after ten minutes. To connect the files of someone else, send them
        the link.
      </p>
      {url === null ? (
        <Button variant="primary" onPress={() => start.mutate()} isPending={start.isPending}>
          Start
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
          <CopyButton text={url} label="Copy link" />
        </div>
      )}
      {isOpened && (
        <div className="notice" role="status">
          <p>
            <span className="spinner inline" aria-hidden="true" /> Waiting for consent…
          </p>
          <p className="help">
            If no tab opened, or you closed it, open the link again or copy it into a new tab. If the tab says that the
            request expired or was refused, start again.
          </p>
          <Button onPress={() => start.mutate()} isPending={start.isPending}>
            Start again
          </Button>
        </div>
      )}
      {start.error && <ErrorBox error={start.error} />}
      {status.error && <ErrorBox error={status.error} retry={status.refetch} />}
    </div>
  )
}

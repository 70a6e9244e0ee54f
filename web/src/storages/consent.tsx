import { useMutation, useQuery } from '@tanstack/react-query'
import { useEffect, useEffectEvent, useState } from 'react'
import { ask } from '../api/client.ts'
import { queryKeys } from '../api/query-keys.ts'
import { texts } from '../texts/storages.tsx'
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
      <p>{texts.authorizeHelp(vendor)}</p>
      {url === null ? (
        <Button variant="primary" onPress={() => start.mutate()} isPending={start.isPending}>
          {texts.start}
        </Button>
      ) : (
        <div className="inline-row">
          <a
            className={`button ${isOpened ? '' : 'primary'}`}
            href={url}
            target="_blank"
            rel="noopener noreferrer"
            onClick={() => setOpened(true)}
          >
            {texts.continueTo(vendor)}
          </a>
          <CopyButton text={url} label={texts.copyLink} />
        </div>
      )}
      {isOpened && (
        <div className="notice" role="status">
          <p>
            <span className="spinner inline" aria-hidden="true" /> {texts.waiting}
          </p>
          <p className="help">{texts.waitingHelp}</p>
          <Button onPress={() => start.mutate()} isPending={start.isPending}>
            {texts.startAgain}
          </Button>
        </div>
      )}
      {start.error && <ErrorBox error={start.error} />}
      {status.error && <ErrorBox error={status.error} retry={status.refetch} />}
    </div>
  )
}

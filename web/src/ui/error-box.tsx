import { basePath, urlOf } from '../api/base-path.ts'
import { StowageError } from '../api/client.ts'
import { Button } from './button.tsx'

/** Returns the reason and the request id; null if the server was not reached. */
export function errorDetails(error: unknown): string | null {
  if (!(error instanceof StowageError) || error.reason === 'NETWORK') return null
  return error.requestId ? `${error.reason} · request ${error.requestId}` : error.reason
}

/** Shows an error, with the details that an administrator needs to find it in the log. */
export function ErrorBox({ error, retry }: { error: unknown; retry?: (() => unknown) | undefined }) {
  const details = errorDetails(error)
  const message = error instanceof Error ? error.message : String(error)
  return (
    <div className="error-box" role="alert">
      <p>{message}</p>
      {details && <p className="error-details">{details}</p>}
      {error instanceof StowageError && error.reason === 'SESSION_ENDED' ? (
        <a className="button" href={signInUrl()}>
          Sign in
        </a>
      ) : (
        retry && <Button onPress={() => void retry()}>Try again</Button>
      )}
    </div>
  )
}

/** Returns the URL of the sign-in, after which the person comes back to this page. */
function signInUrl(): string {
  const next = location.pathname.slice(basePath.length) + location.search
  return urlOf(`/sign-in?next=${encodeURIComponent(next)}`)
}

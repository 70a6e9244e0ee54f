import type { ReactNode } from 'react'
import { basePath, StowageError, urlOf } from '../api/client.ts'
import { common } from '../texts/common.ts'
import { errorText } from '../texts/errors.ts'
import { texts } from '../texts/ui.ts'
import { Button } from './button.tsx'

/** Returns the reason and the request id; null if the server was not reached. */
export function errorDetails(error: unknown): string | null {
  if (!(error instanceof StowageError) || error.reason === 'NETWORK') return null
  return error.requestId ? texts.request(error.reason, error.requestId) : error.reason
}

export function errorMessage(error: unknown): string {
  if (!(error instanceof StowageError)) return error instanceof Error ? error.message : String(error)
  if (error.reason === 'NETWORK') return texts.unreachable
  // A proxy in front of the server responded.
  return error.code === 'HTTP' ? texts.serverUnavailable(error.status) : errorText(error)
}

/** Hides what only an administrator needs. */
export function Details({ children }: { children: ReactNode }) {
  return (
    <details className="error-details">
      <summary>{texts.details}</summary>
      <p>{children}</p>
    </details>
  )
}

/** Shows an error, with the details that an administrator needs to find it in the log. */
export function ErrorBox({ error, retry }: { error: unknown; retry?: (() => unknown) | undefined }) {
  const details = errorDetails(error)
  return (
    <div className="error-box" role="alert">
      <p>{errorMessage(error)}</p>
      {details && <Details>{details}</Details>}
      {error instanceof StowageError && error.reason === 'SESSION_ENDED' ? (
        <a className="button" href={signInUrl()}>
          {common.signIn}
        </a>
      ) : (
        retry && <Button onPress={() => void retry()}>{common.tryAgain}</Button>
      )}
    </div>
  )
}

/** Returns the URL of the sign-in, after which the person comes back to this page. */
function signInUrl(): string {
  const next = location.pathname.slice(basePath.length) + location.search
  return urlOf(`/sign-in?next=${encodeURIComponent(next)}`)
}

import { ApiError } from '../api/request.ts'
import { Button } from './button.tsx'

/** The reason and the request's id; null where the server was not reached. */
export function errorFacts(error: unknown): string | null {
  if (!(error instanceof ApiError) || error.reason === 'NETWORK') return null
  return error.requestId ? `${error.reason} · request ${error.requestId}` : error.reason
}

/** What went wrong, in the server's words, with what an administrator needs to find it in the log. */
export function ErrorBox({ error, retry }: { error: unknown; retry?: (() => unknown) | undefined }) {
  const facts = errorFacts(error)
  const message = error instanceof Error ? error.message : String(error)
  return (
    <div className="error-box" role="alert">
      <p>{message}</p>
      {facts && <p className="error-facts">{facts}</p>}
      {error instanceof ApiError && error.reason === 'SESSION_ENDED' ? (
        <a className="button" href={`/sign-in?next=${encodeURIComponent(location.pathname + location.search)}`}>
          Sign in
        </a>
      ) : (
        retry && <Button onPress={() => void retry()}>Try again</Button>
      )}
    </div>
  )
}

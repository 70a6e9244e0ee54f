import { ApiError } from '../api/request.ts'
import { Button } from './button.tsx'

/** What went wrong, in the server's words, with what an administrator needs to find it in the log. */
export function ErrorBox({ error, retry }: { error: unknown; retry?: (() => unknown) | undefined }) {
  const message = error instanceof Error ? error.message : String(error)
  return (
    <div className="error-box" role="alert">
      <p>{message}</p>
      {error instanceof ApiError && error.reason !== 'NETWORK' && (
        <p className="error-facts">
          {error.reason}
          {error.requestId && <> · request {error.requestId}</>}
        </p>
      )}
      {retry && <Button onPress={() => void retry()}>Try again</Button>}
    </div>
  )
}

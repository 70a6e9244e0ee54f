import { isRouteErrorResponse, useRouteError } from 'react-router'
import { ErrorBox } from '../ui/error-box.tsx'

/** For what nobody foresaw, a failed download of a page's own script included. */
export function ErrorPage() {
  const error = useRouteError()
  if (isRouteErrorResponse(error) && error.status === 404) return <NotFound />
  return (
    <main className="narrow-page">
      <h1>This page could not be shown</h1>
      <ErrorBox error={error} retry={() => location.reload()} />
    </main>
  )
}

export function NotFound() {
  return (
    <main className="page">
      <h1>There is nothing here</h1>
      <p>
        The address may be misspelt. Go to your <a href="/files">files</a>.
      </p>
    </main>
  )
}

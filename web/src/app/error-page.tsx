import { isRouteErrorResponse, useRouteError } from 'react-router'
import { urlOf } from '../api/base-path.ts'
import { ErrorBox } from '../ui/error-box.tsx'

/** Shown for unexpected errors, and when a page's script cannot be loaded. */
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
      <h1>Page not found</h1>
      <p>
        Check the address, or go to your <a href={urlOf('/files')}>files</a>.
      </p>
    </main>
  )
}

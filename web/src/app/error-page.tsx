import { isRouteErrorResponse, useRouteError } from 'react-router'
import { urlOf } from '../api/base-path.ts'
import { texts } from '../texts/shell.tsx'
import { ErrorBox } from '../ui/error-box.tsx'

/** Shown for unexpected errors, and when a page's script cannot be loaded. */
export function ErrorPage() {
  const error = useRouteError()
  if (isRouteErrorResponse(error) && error.status === 404) return <NotFound />
  return (
    <main className="narrow-page">
      <h1>{texts.pageFailed}</h1>
      <ErrorBox error={error} retry={() => location.reload()} />
    </main>
  )
}

export function NotFound() {
  return (
    <main className="page">
      <h1>{texts.notFound}</h1>
      <p>
        {texts.notFoundHelp(text => (
          <a href={urlOf('/files')}>{text}</a>
        ))}
      </p>
    </main>
  )
}

/**
 * Composes the console: the router, the cache of the server's results, and the frame around all pages. Nothing else imports
 * more than one of the parts in the other folders.
 */
import { QueryCache, QueryClient, QueryClientProvider, useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { RouterProvider as AriaRouter, I18nProvider } from 'react-aria-components'
import { createBrowserRouter, Outlet, RouterProvider, useHref, useNavigate } from 'react-router'
import { basePath, isServerAway, StowageError } from '../api/client.ts'
import { queryKeys } from '../api/query-keys.ts'
import { onSignInElsewhere } from '../api/session.ts'
import { texts } from '../texts/app.tsx'
import { locale } from '../texts/languages.ts'
import { Toasts } from '../ui/toasts.tsx'
import { ErrorPage, routes } from './routes.tsx'

/** Milliseconds between two attempts while the server cannot be reached. */
const retryInterval = 5000

/** Says that the server cannot be reached, and loads what failed again until it can be. */
function ConnectionBanner() {
  const client = useQueryClient()
  const [problem, setProblem] = useState<string | null>(null)
  useEffect(
    () =>
      client.getQueryCache().subscribe(event => {
        if (event.type !== 'updated') return
        const { action } = event
        if (action.type === 'success' && !action.manual) setProblem(null)
        if (action.type === 'failed' || action.type === 'error') setProblem(describe(action.error))
      }),
    [client],
  )
  const isAway = problem !== null
  useEffect(() => {
    if (!isAway) return
    const retry = () =>
      void client.refetchQueries({ type: 'active', predicate: ({ state }) => isServerAway(state.error) })
    const timer = setInterval(retry, retryInterval)
    addEventListener('online', retry)
    return () => {
      clearInterval(timer)
      removeEventListener('online', retry)
    }
  }, [client, isAway])
  return (
    <p className="connection-banner" role="status">
      {problem}
    </p>
  )
}

function describe(error: unknown): string | null {
  if (!isServerAway(error)) return null
  if (!navigator.onLine) return texts.offline
  return error.status === 0 ? texts.unreachable : texts.unavailable(error.status)
}

const client = new QueryClient({
  queryCache: new QueryCache({
    onError(error) {
      // The session ended elsewhere, so every page has to learn that nobody is signed in.
      if (error instanceof StowageError && error.status === 401)
        void client.invalidateQueries({ queryKey: queryKeys.session })
    },
  }),
  defaultOptions: {
    queries: {
      networkMode: 'always',
      staleTime: 5000,
      // The client of the server repeats queries.
      retry: false,
    },
    // Without a network, everything fails at once with a message. By default it would wait silently.
    mutations: { networkMode: 'always' },
  },
})

onSignInElsewhere(() => void client.invalidateQueries({ queryKey: queryKeys.session }))

/** Makes the links of the component library use the router. */
function Root() {
  const navigate = useNavigate()
  return (
    <I18nProvider locale={locale}>
      <AriaRouter navigate={(path, options) => void navigate(path, options)} useHref={useHref}>
        <Outlet />
        <ConnectionBanner />
        <Toasts />
      </AriaRouter>
    </I18nProvider>
  )
}

const router = createBrowserRouter([{ element: <Root />, errorElement: <ErrorPage />, children: routes }], {
  basename: basePath || '/',
})

export function App() {
  return (
    <QueryClientProvider client={client}>
      <RouterProvider router={router} />
    </QueryClientProvider>
  )
}

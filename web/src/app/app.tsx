import { QueryCache, QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider as AriaRouter } from 'react-aria-components'
import { createBrowserRouter, Outlet, RouterProvider, useHref, useNavigate } from 'react-router'
import { basePath } from '../api/base-path.ts'
import { StowageError } from '../api/client.ts'
import { queryKeys } from '../api/query-keys.ts'
import { onSignInElsewhere } from '../api/session.ts'
import { Toasts } from '../ui/toasts.tsx'
import { ConnectionBanner } from './connection.tsx'
import { ErrorPage } from './error-page.tsx'
import { routes } from './routes.tsx'

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
    <AriaRouter navigate={(path, options) => void navigate(path, options)} useHref={useHref}>
      <Outlet />
      <ConnectionBanner />
      <Toasts />
    </AriaRouter>
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

import { QueryCache, QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider as AriaRouter } from 'react-aria-components'
import { createBrowserRouter, Outlet, RouterProvider, useHref, useNavigate } from 'react-router'
import { ApiError } from '../api/request.ts'
import { onSessionOfOtherTab } from '../api/session.ts'
import { Toasts } from '../ui/toasts.tsx'
import { ErrorPage } from './error-page.tsx'
import { routes } from './routes.tsx'
import { sessionKey } from './use-session.ts'

const client = new QueryClient({
  queryCache: new QueryCache({
    onError(error) {
      // The session has ended elsewhere: whoever asks who is signed in learns it now.
      if (error instanceof ApiError && error.status === 401) void client.invalidateQueries({ queryKey: sessionKey })
    },
  }),
  defaultOptions: {
    queries: {
      staleTime: 5000,
      retry: (failures, error) =>
        failures < 2 && error instanceof ApiError && (error.status === 0 || error.status >= 502),
    },
  },
})

onSessionOfOtherTab(() => void client.invalidateQueries({ queryKey: ['session'] }))

/** Links of the component library go through the router, too. */
function Root() {
  const navigate = useNavigate()
  return (
    <AriaRouter navigate={(path, options) => void navigate(path, options)} useHref={useHref}>
      <Outlet />
      <Toasts />
    </AriaRouter>
  )
}

const router = createBrowserRouter([{ element: <Root />, errorElement: <ErrorPage />, children: routes }])

export function App() {
  return (
    <QueryClientProvider client={client}>
      <RouterProvider router={router} />
    </QueryClientProvider>
  )
}

import { Navigate, type RouteObject } from 'react-router'
import { Register } from '../account/register.tsx'
import { SignIn } from '../account/sign-in.tsx'
import { ErrorPage, NotFound } from './error-page.tsx'
import { fetched } from './fetched.ts'
import { Shell } from './shell.tsx'

/** Pages are fetched when they are first gone to. The server knows the same addresses: src/console/pages.ts. */
export const routes: RouteObject[] = [
  { path: '/sign-in', element: <SignIn /> },
  { path: '/register', element: <Register /> },
  {
    element: <Shell />,
    // Within the frame: whatever breaks in a page, uploads go on.
    children: [
      {
        errorElement: <ErrorPage />,
        children: [
          { index: true, element: <Navigate to="/files" replace /> },
          {
            path: '/connect',
            lazy: async () => ({ Component: (await fetched(import('../connect/connect-page.tsx'))).ConnectPage }),
          },
          { path: '/files', lazy: async () => ({ Component: (await fetched(import('../files/home.tsx'))).FilesHome }) },
          {
            path: '/files/:providerId/*',
            lazy: async () => ({ Component: (await fetched(import('../files/folder-page.tsx'))).FolderPage }),
          },
          {
            path: '/settings',
            lazy: async () => ({ Component: (await fetched(import('../settings/layout.tsx'))).SettingsLayout }),
            children: [
              { index: true, element: <Navigate to="/settings/profile" replace /> },
              {
                path: 'profile',
                lazy: async () => ({ Component: (await fetched(import('../settings/profile/page.tsx'))).Profile }),
              },
              {
                path: 'api-keys',
                lazy: async () => ({ Component: (await fetched(import('../settings/api-keys/page.tsx'))).ApiKeysPage }),
              },
              {
                path: 'providers',
                lazy: async () => ({
                  Component: (await fetched(import('../settings/providers/page.tsx'))).ProvidersPage,
                }),
              },
              {
                path: 'members',
                lazy: async () => ({ Component: (await fetched(import('../settings/members/page.tsx'))).MembersPage }),
              },
              {
                path: 'workspace',
                lazy: async () => ({ Component: (await fetched(import('../settings/workspace.tsx'))).WorkspacePage }),
              },
            ],
          },
          { path: '*', element: <NotFound /> },
        ],
      },
    ],
  },
]

import { Navigate, type RouteObject } from 'react-router'
import { Register, SignIn } from '../account/sign-in.tsx'
import { loadPart } from '../api/load-part.ts'
import { ErrorPage, NotFound } from './error-page.tsx'
import { Shell } from './shell.tsx'

/** Each page is loaded on the first visit. The server serves the same addresses: src/endpoints/console/pages.ts. */
export const routes: RouteObject[] = [
  { path: '/sign-in', element: <SignIn /> },
  { path: '/register', element: <Register /> },
  {
    path: '/reset-password',
    lazy: async () => ({ Component: (await loadPart(import('../account/reset-password.tsx'))).ResetPassword }),
  },
  {
    path: '/s/:token',
    errorElement: <ErrorPage />,
    lazy: async () => ({ Component: (await loadPart(import('../files/shared/page.tsx'))).SharedPage }),
  },
  {
    element: <Shell />,
    // An error in a page is shown inside the shell, so that uploads continue.
    children: [
      {
        errorElement: <ErrorPage />,
        children: [
          { index: true, element: <Navigate to="/files" replace /> },
          {
            path: '/connect',
            lazy: async () => ({ Component: (await loadPart(import('../storages/connect-page.tsx'))).ConnectPage }),
          },
          {
            path: '/files',
            lazy: async () => ({ Component: (await loadPart(import('../files/home.tsx'))).FilesHome }),
          },
          {
            path: '/files/:providerId/*',
            lazy: async () => ({ Component: (await loadPart(import('../files/folder/page.tsx'))).FolderPage }),
          },
          {
            path: '/trash/:providerId',
            lazy: async () => ({ Component: (await loadPart(import('../files/trash/page.tsx'))).TrashPage }),
          },
          {
            path: '/settings',
            lazy: async () => ({ Component: (await loadPart(import('../settings/layout.tsx'))).SettingsLayout }),
            children: [
              { index: true, element: <Navigate to="/settings/profile" replace /> },
              {
                path: 'profile',
                lazy: async () => ({ Component: (await loadPart(import('../settings/profile/page.tsx'))).Profile }),
              },
              {
                path: 'api-keys',
                lazy: async () => ({
                  Component: (await loadPart(import('../settings/api-keys/page.tsx'))).ApiKeysPage,
                }),
              },
              {
                path: 'jobs',
                lazy: async () => ({ Component: (await loadPart(import('../jobs/page.tsx'))).JobsPage }),
              },
              {
                path: 'schedules',
                lazy: async () => ({ Component: (await loadPart(import('../jobs/schedules/page.tsx'))).SchedulesPage }),
              },
              {
                path: 'shares',
                lazy: async () => ({ Component: (await loadPart(import('../shares/page.tsx'))).SharesPage }),
              },
              {
                path: 'storages',
                lazy: async () => ({
                  Component: (await loadPart(import('../storages/storages-page.tsx'))).StoragesPage,
                }),
              },
              {
                path: 'members',
                lazy: async () => ({ Component: (await loadPart(import('../settings/members/page.tsx'))).MembersPage }),
              },
              {
                path: 'webhooks',
                lazy: async () => ({
                  Component: (await loadPart(import('../settings/webhooks/page.tsx'))).WebhooksPage,
                }),
              },
              {
                path: 'audit',
                lazy: async () => ({ Component: (await loadPart(import('../settings/audit/page.tsx'))).AuditPage }),
              },
              {
                path: 'workspace',
                lazy: async () => ({ Component: (await loadPart(import('../settings/workspace.tsx'))).WorkspacePage }),
              },
            ],
          },
          { path: '*', element: <NotFound /> },
        ],
      },
    ],
  },
]

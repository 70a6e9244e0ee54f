import type { ComponentType } from 'react'
import { isRouteErrorResponse, Navigate, type RouteObject, useRouteError } from 'react-router'
import { urlOf } from '../api/client.ts'
import { loadPart } from '../lib/load-part.ts'
import { texts } from '../texts/app.tsx'
import { ErrorBox } from '../ui/error-box.tsx'
import { Shell } from './shell.tsx'

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

function NotFound() {
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

/** Returns the loader of a page. */
function page(load: () => Promise<ComponentType>) {
  return async () => ({ Component: await loadPart(load()) })
}

/** Each page is loaded on the first visit. The server serves the same addresses: src/endpoints/console/pages.ts. */
export const routes: RouteObject[] = [
  // The components in all of their states, for developers. A build contains nothing of it.
  ...(import.meta.env.DEV
    ? [{ path: '/design', lazy: page(async () => (await import('./design/page.tsx')).DesignPage) }]
    : []),
  { path: '/sign-in', lazy: page(async () => (await import('../account/sign-in.tsx')).SignIn) },
  { path: '/register', lazy: page(async () => (await import('../account/sign-in.tsx')).Register) },
  { path: '/reset-password', lazy: page(async () => (await import('../account/reset-password.tsx')).ResetPassword) },
  { path: '/link-account', lazy: page(async () => (await import('../account/link-account.tsx')).LinkAccount) },
  {
    path: '/s/:token',
    errorElement: <ErrorPage />,
    lazy: page(async () => (await import('../files/shared/page.tsx')).SharedPage),
  },
  {
    element: <Shell />,
    // An error in a page is shown inside the shell, so that uploads continue.
    children: [
      {
        errorElement: <ErrorPage />,
        children: [
          { index: true, element: <Navigate to="/files" replace /> },
          { path: '/connect', lazy: page(async () => (await import('../storages/connect-page.tsx')).ConnectPage) },
          {
            path: '/oauth/authorize',
            lazy: page(async () => (await import('../settings/applications/consent-page.tsx')).ConsentPage),
          },
          { path: '/files', lazy: page(async () => (await import('./home/home.tsx')).Home) },
          {
            path: '/files/:providerId/*',
            lazy: page(async () => (await import('../files/folder/page.tsx')).FolderPage),
          },
          { path: '/insight', lazy: page(async () => (await import('../files/insight/page.tsx')).InsightPage) },
          {
            path: '/insight/:providerId/*',
            lazy: page(async () => (await import('../files/insight/page.tsx')).InsightPage),
          },
          { path: '/search', lazy: page(async () => (await import('../files/search/page.tsx')).SearchPage) },
          { path: '/recent', lazy: page(async () => (await import('../files/recent/page.tsx')).RecentPage) },
          { path: '/starred', lazy: page(async () => (await import('../files/marks/page.tsx')).MarkedPage) },
          { path: '/upload', lazy: page(async () => (await import('../files/upload/receive.tsx')).ReceivePage) },
          { path: '/offline', lazy: page(async () => (await import('../files/offline/page.tsx')).KeptPage) },
          {
            path: '/activity',
            lazy: page(async () => (await import('./home/activity-page.tsx')).ActivityPage),
          },
          {
            path: '/shared-with-me',
            lazy: page(async () => (await import('../files/received/page.tsx')).ReceivedPage),
          },
          { path: '/shares', lazy: page(async () => (await import('../shares/page.tsx')).SharesPage) },
          {
            path: '/jobs',
            lazy: page(async () => (await import('../jobs/layout.tsx')).JobsLayout),
            children: [
              { index: true, lazy: page(async () => (await import('../jobs/page.tsx')).JobsPage) },
              { path: 'schedules', lazy: page(async () => (await import('../jobs/schedules/page.tsx')).SchedulesPage) },
            ],
          },
          { path: '/trash', lazy: page(async () => (await import('../files/trash/page.tsx')).FirstTrash) },
          { path: '/trash/:providerId', lazy: page(async () => (await import('../files/trash/page.tsx')).TrashPage) },
          {
            path: '/settings',
            lazy: page(async () => (await import('../settings/layout.tsx')).SettingsLayout),
            children: [
              { index: true, element: <Navigate to="/settings/profile" replace /> },
              { path: 'profile', lazy: page(async () => (await import('../settings/profile.tsx')).Profile) },
              {
                path: 'security',
                lazy: page(async () => (await import('../settings/security/page.tsx')).SecurityPage),
              },
              {
                path: 'notifications',
                lazy: page(async () => (await import('../settings/notifications.tsx')).NotificationsPage),
              },
              { path: 'api-keys', lazy: page(async () => (await import('../settings/api-keys/page.tsx')).ApiKeysPage) },
              {
                path: 'approvals',
                lazy: page(async () => (await import('../settings/approvals/page.tsx')).ApprovalsPage),
              },
              {
                path: 'overview',
                lazy: page(async () => (await import('../settings/overview/page.tsx')).OverviewPage),
              },
              // The addresses of these pages before the navigation had them.
              { path: 'jobs', element: <Navigate to="/jobs" replace /> },
              { path: 'schedules', element: <Navigate to="/jobs/schedules" replace /> },
              { path: 'shares', element: <Navigate to="/shares" replace /> },
              {
                path: 'storages',
                lazy: page(async () => (await import('../storages/storages-page.tsx')).StoragesPage),
              },
              { path: 'members', lazy: page(async () => (await import('../settings/members/page.tsx')).MembersPage) },
              { path: 'groups', lazy: page(async () => (await import('../settings/groups/page.tsx')).GroupsPage) },
              {
                path: 'service-accounts',
                lazy: page(async () => (await import('../settings/service-accounts/page.tsx')).ServiceAccountsPage),
              },
              {
                path: 'directories',
                lazy: page(async () => (await import('../settings/directories/page.tsx')).DirectoriesPage),
              },
              {
                path: 'webhooks',
                lazy: page(async () => (await import('../settings/webhooks/page.tsx')).WebhooksPage),
              },
              { path: 'audit', lazy: page(async () => (await import('../settings/audit/page.tsx')).AuditPage) },
              {
                path: 'single-sign-on',
                lazy: page(async () => (await import('../settings/single-sign-on/page.tsx')).SingleSignOnPage),
              },
              { path: 'workspace', lazy: page(async () => (await import('../settings/workspace.tsx')).WorkspacePage) },
            ],
          },
          { path: '*', element: <NotFound /> },
        ],
      },
    ],
  },
]

import { Suspense, useEffect, useState } from 'react'
import { Navigate, NavLink, Outlet, useLocation, useNavigate } from 'react-router'
import { isServerAway } from '../api/client.ts'
import { canKeep } from '../api/device.ts'
import { SessionContext, signOut, useClearCache, useSessionQuery } from '../api/session.ts'
import { DownloadDock, UploadDock } from '../files/docks.tsx'
import { SearchField } from '../files/search/field.tsx'
import { recentSearches } from '../files/search/recent-searches.ts'
import { forgetRecentFiles } from '../files/tree/recent-files.ts'
import { hasActiveUploads } from '../files/upload/waiting-uploads.ts'
import { JobDock } from '../jobs/dock.tsx'
import type { AnnounceEnd } from '../jobs/panel.tsx'
import { lazyPart, loadPart } from '../lib/load-part.ts'
import { useLiveApprovals } from '../settings/approvals/approvals.ts'
import { texts } from '../texts/app.tsx'
import { texts as approvalTexts } from '../texts/approvals.tsx'
import { common } from '../texts/common.ts'
import { Logo } from '../ui/brand.tsx'
import { Dock } from '../ui/dock.tsx'
import { ErrorBox } from '../ui/error-box.tsx'
import { Icon } from '../ui/icons.tsx'
import { Loading } from '../ui/loading.tsx'
import { useHasBottomBar, useIsWide } from '../ui/window-size.ts'
import { AccountMenu } from './frame/account-menu.tsx'
import { Confirmations } from './frame/confirmations.tsx'
import { useDevice, useNotificationPages } from './use-device.ts'
import './frame/frame.css'

const announceEnd: AnnounceEnd = async (...ended) => {
  const undo = await loadPart(import('../files/undo.ts'))
  await undo.announceEnd(...ended)
}

const Confirm = lazyPart(async () => (await import('../ui/dialog.tsx')).Confirm)
const OfflinePage = lazyPart(async () => (await import('../files/offline/page.tsx')).OfflinePage)
const Drawer = lazyPart(async () => (await import('./frame/drawer.tsx')).Drawer)
const BottomBar = lazyPart(async () => (await import('./frame/bottom-bar.tsx')).BottomBar)
const SideNav = lazyPart(async () => (await import('./frame/side-nav.tsx')).SideNav)
const SettingsNav = lazyPart(async () => (await import('../settings/navigation.tsx')).SettingsNav)

/** The only page that a session can use before it has the second factor that the workspace requires. */
const securityPage = '/settings/security'

/** The frame of every page for people who are signed in. Visitors are sent to the sign-in page and then back. */
export function Shell() {
  const { data: session, error, isPending, refetch } = useSessionQuery()
  const { pathname, search } = useLocation()
  const clearCache = useClearCache()
  const navigate = useNavigate()
  const isWide = useIsWide()
  const hasBottomBar = useHasBottomBar()
  const [isConfirming, setConfirming] = useState(false)
  const [isMenuOpen, setMenuOpen] = useState(false)
  useDevice(session?.viewer.user.id)
  useNotificationPages()
  // While a failed check is repeated, the query has no error, and its page stays.
  const [lastError, setLastError] = useState<Error | null>(null)
  useEffect(() => {
    if (error || session !== undefined) setLastError(error)
  }, [error, session])
  const shownError = error ?? (isPending ? lastError : null)
  if (isPending && !shownError) return <Loading label={common.loading} />
  // A failed check keeps the last known session, so that uploads continue and dialogs keep what was typed.
  if (shownError && session === undefined) {
    // The service worker has the page only if it has opened this one.
    if (isServerAway(shownError) && canKeep && navigator.serviceWorker.controller) {
      return (
        <Suspense fallback={<Loading label={common.loading} />}>
          <OfflinePage retry={refetch} />
        </Suspense>
      )
    }
    return (
      <main className="narrow-page">
        <ErrorBox error={shownError} retry={refetch} />
      </main>
    )
  }
  if (!session) {
    const query = pathname === '/' || pathname === '/files' ? '' : `?next=${encodeURIComponent(pathname + search)}`
    return <Navigate to={`/sign-in${query}`} replace />
  }
  const { needsSecondFactor } = session.viewer
  if (needsSecondFactor && pathname !== securityPage) return <Navigate to={securityPage} replace />
  const signOutAndLeave = async () => {
    const issuerLogout = await signOut()
    forgetRecentFiles()
    recentSearches.forget()
    await navigate('/sign-in', { state: { issuerLogout } })
    await clearCache()
  }
  const isSettings = pathname.startsWith('/settings')
  return (
    <SessionContext value={session}>
      <div className="frame">
        <a className="skip-link" href="#content">
          {texts.skip}
        </a>
        <header className="top-bar">
          {!isWide && !hasBottomBar && !needsSecondFactor && (
            <button
              type="button"
              className="icon-button"
              aria-label={texts.menu}
              aria-haspopup="dialog"
              aria-expanded={isMenuOpen}
              onClick={() => setMenuOpen(true)}
            >
              <Icon name="menu" />
            </button>
          )}
          <NavLink to="/files" className="brand" aria-label={texts.home(session.workspace.name)}>
            <Logo />
            <span className="brand-name">{session.workspace.name}</span>
          </NavLink>
          {!needsSecondFactor && <SearchField />}
          <div className="top-bar-end">
            {!needsSecondFactor && session.workspace.approvals.length > 0 && <ApprovalsLink />}
            <AccountMenu onSignOut={() => (hasActiveUploads() ? setConfirming(true) : void signOutAndLeave())} />
          </div>
        </header>
        {isWide && !needsSecondFactor && (
          <div className="frame-nav">
            <Suspense>{isSettings ? <SettingsNav /> : <SideNav />}</Suspense>
          </div>
        )}
        <div id="content" className="sheet" tabIndex={-1} key={session.viewer.user.id}>
          <Outlet />
        </div>
        <Suspense>
          {hasBottomBar && !needsSecondFactor && <BottomBar isMenuOpen={isMenuOpen} onMenu={() => setMenuOpen(true)} />}
        </Suspense>
      </div>
      {!needsSecondFactor && (
        <Dock>
          <JobDock announceEnd={announceEnd} />
          <DownloadDock />
          <UploadDock />
        </Dock>
      )}
      <Confirmations />
      <Suspense>{isMenuOpen && !isWide && <Drawer onClose={() => setMenuOpen(false)} />}</Suspense>
      {isConfirming && (
        <Suspense>
          <Confirm
            title={texts.signOutTitle}
            action={common.signOut}
            onConfirm={signOutAndLeave}
            onClose={() => setConfirming(false)}
          >
            <p>{texts.signOutHelp}</p>
          </Confirm>
        </Suspense>
      )}
    </SessionContext>
  )
}

/** Leads to the calls that wait for the viewer, if there are any. */
function ApprovalsLink() {
  const { data = [] } = useLiveApprovals()
  return (
    <span role="status">
      {data.length > 0 && (
        <NavLink to="/settings/approvals" className="badge warn">
          {approvalTexts.waiting(data.length)}
        </NavLink>
      )}
    </span>
  )
}

import { Suspense, useEffect, useState } from 'react'
import { Navigate, NavLink, Outlet, useLocation, useNavigate } from 'react-router'
import { onConfirmationNeeded } from '../api/client.ts'
import { SessionContext, signOut, useClearCache, useSessionQuery } from '../api/session.ts'
import { DownloadDock, UploadDock } from '../files/docks.tsx'
import { SearchField } from '../files/search/field.tsx'
import { recentSearches } from '../files/search/recent-searches.ts'
import { forgetRecentFiles } from '../files/sidebar/recent-files.ts'
import { hasActiveUploads } from '../files/upload/waiting-uploads.ts'
import { JobDock } from '../jobs/dock.tsx'
import type { AnnounceEnd } from '../jobs/panel.tsx'
import { lazyPart, loadPart } from '../lib/load-part.ts'
import { ApprovalsLink } from '../settings/approvals/link.tsx'
import { texts } from '../texts/app.tsx'
import { common } from '../texts/common.ts'
import { Button } from '../ui/button.tsx'
import { Dock } from '../ui/dock.tsx'
import { ErrorBox } from '../ui/error-box.tsx'
import { Loading } from '../ui/loading.tsx'
import { Logo } from '../ui/welcome.tsx'

const announceEnd: AnnounceEnd = async (...ended) => {
  const undo = await loadPart(import('../files/undo.ts'))
  await undo.announceEnd(...ended)
}

const Confirm = lazyPart(async () => (await import('../ui/dialog.tsx')).Confirm)

const ConfirmIdentity = lazyPart(async () => (await import('../account/confirm-identity.tsx')).ConfirmIdentity)

/** Asks the person to confirm who they are when the server wants it for a change. Changes at the same time wait for one answer. */
function Confirmations() {
  const [end, setEnd] = useState<((isConfirmed: boolean) => void) | null>(null)
  useEffect(() => {
    let asking: Promise<boolean> | null = null
    onConfirmationNeeded(() => {
      asking ??= new Promise(resolve =>
        setEnd(() => (isConfirmed: boolean) => {
          asking = null
          setEnd(null)
          resolve(isConfirmed)
        }),
      )
      return asking
    })
    return () => onConfirmationNeeded(null)
  }, [])
  return (
    end && (
      <Suspense>
        <ConfirmIdentity onEnd={end} />
      </Suspense>
    )
  )
}

/** The only page that a session can use before it has the second factor that the workspace requires. */
const securityPage = '/settings/security'

/** The frame of every page for people who are signed in. Visitors are sent to the sign-in page and then back. */
export function Shell() {
  const { data: session, error, isPending, refetch } = useSessionQuery()
  const { pathname, search } = useLocation()
  const clearCache = useClearCache()
  const navigate = useNavigate()
  const [isConfirming, setConfirming] = useState(false)
  if (isPending) return <Loading label={common.loading} />
  // A failed check keeps the last known session, so that uploads continue and dialogs keep what was typed.
  if (error && session === undefined) {
    return (
      <main className="narrow-page">
        <ErrorBox error={error} retry={refetch} />
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
  return (
    <SessionContext value={session}>
      <a className="skip-link" href="#content">
        {texts.skip}
      </a>
      <header className="top-bar">
        <NavLink to="/files" className="brand" aria-label={texts.home(session.workspace.name)}>
          <Logo />
          <span className="brand-name">{session.workspace.name}</span>
        </NavLink>
        <nav aria-label={texts.mainNavigation}>
          <NavLink to="/files">{texts.files}</NavLink>
          <NavLink to="/settings">{texts.settings}</NavLink>
        </nav>
        {!needsSecondFactor && <SearchField />}
        <div className="top-bar-end">
          {!needsSecondFactor && session.workspace.approvals.length > 0 && <ApprovalsLink />}
          <span className="who" title={session.viewer.user.email}>
            {session.viewer.user.name ?? session.viewer.user.email}
          </span>
          <Button variant="quiet" onPress={() => (hasActiveUploads() ? setConfirming(true) : signOutAndLeave())}>
            {common.signOut}
          </Button>
        </div>
      </header>
      <div id="content" tabIndex={-1} key={session.viewer.user.id}>
        <Outlet />
      </div>
      {!needsSecondFactor && (
        <Dock>
          <JobDock announceEnd={announceEnd} />
          <DownloadDock />
          <UploadDock />
        </Dock>
      )}
      <Confirmations />
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

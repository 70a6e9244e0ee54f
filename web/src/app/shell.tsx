import { lazy, Suspense, useState } from 'react'
import { Navigate, NavLink, Outlet, useLocation, useNavigate } from 'react-router'
import { signOut } from '../api/session.ts'
import { UploadDock } from '../files/upload/dock.tsx'
import { uploadsUnderWay } from '../files/upload/waiting-uploads.ts'
import { Button } from '../ui/button.tsx'
import { ErrorBox } from '../ui/error-box.tsx'
import { Loading } from '../ui/loading.tsx'
import { Logo } from '../ui/logo.tsx'
import { fetched } from './fetched.ts'
import { SessionContext, useForgetAll, useSessionQuery } from './use-session.ts'

const Confirm = lazy(async () => ({ default: (await fetched(import('../ui/confirm.tsx'))).Confirm }))

/** The frame of every page for people who are signed in; others are sent to where they can sign in, and come back. */
export function Shell() {
  const { data: session, error, isPending, refetch } = useSessionQuery()
  const { pathname, search } = useLocation()
  const forgetAll = useForgetAll()
  const navigate = useNavigate()
  const [isAsked, setAsked] = useState(false)
  if (isPending) return <Loading label="Starting" />
  // One that was known stays until it is known to have ended: uploads go on below, and dialogs hold what was typed.
  if (error && session === undefined) {
    return (
      <main className="narrow-page">
        <ErrorBox error={error} retry={refetch} />
      </main>
    )
  }
  if (!session) {
    const back = pathname === '/' || pathname === '/files' ? '' : `?next=${encodeURIComponent(pathname + search)}`
    return <Navigate to={`/sign-in${back}`} replace />
  }
  const leave = async () => {
    await signOut()
    await navigate('/sign-in')
    await forgetAll()
  }
  return (
    <SessionContext value={session}>
      <a className="skip-link" href="#content">
        Skip to content
      </a>
      <header className="top-bar">
        <NavLink to="/files" className="brand" aria-label={`${session.workspace.name}: home`}>
          <Logo />
          <span className="brand-name">{session.workspace.name}</span>
        </NavLink>
        <nav aria-label="Main">
          <NavLink to="/files">Files</NavLink>
          <NavLink to="/settings">Settings</NavLink>
        </nav>
        <div className="top-bar-end">
          <span className="who" title={session.viewer.user.email}>
            {session.viewer.user.name ?? session.viewer.user.email}
          </span>
          <Button variant="quiet" onPress={() => (uploadsUnderWay() ? setAsked(true) : leave())}>
            Sign out
          </Button>
        </div>
      </header>
      <div id="content" tabIndex={-1} key={session.viewer.user.id}>
        <Outlet />
      </div>
      <UploadDock />
      {isAsked && (
        <Suspense>
          <Confirm title="Sign out now?" action="Sign out" act={leave} onClose={() => setAsked(false)}>
            <p>Uploads are not complete. They end here; large ones go on when you choose their files again.</p>
          </Confirm>
        </Suspense>
      )}
    </SessionContext>
  )
}

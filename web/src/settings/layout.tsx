import { NavLink, Outlet } from 'react-router'
import { usePermissions } from '../api/use-session.ts'
import '../ui/parts.css'
import './settings.css'

export function SettingsLayout() {
  const { canRead, isAdmin } = usePermissions()
  return (
    <div className="settings">
      <nav className="side-nav" aria-label="Settings">
        <NavLink to="/settings/profile">Profile</NavLink>
        <NavLink to="/settings/api-keys">API keys</NavLink>
        {canRead && (
          <>
            <NavLink to="/settings/jobs">Jobs</NavLink>
            <NavLink to="/settings/schedules">Schedules</NavLink>
          </>
        )}
        {isAdmin && (
          <>
            <NavLink to="/settings/storages">Storages</NavLink>
            <NavLink to="/settings/members">Members</NavLink>
            <NavLink to="/settings/webhooks">Webhooks</NavLink>
            <NavLink to="/settings/workspace">Workspace</NavLink>
          </>
        )}
      </nav>
      <main>
        <Outlet />
      </main>
    </div>
  )
}

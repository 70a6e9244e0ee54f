import { NavLink, Outlet } from 'react-router'
import { texts } from '../texts/jobs.ts'

/** The jobs, and the schedules that start some of them. */
export function JobsLayout() {
  return (
    <main className="page rows-page">
      <nav className="tabs" aria-label={texts.jobs}>
        <Tab to="/jobs">{texts.history}</Tab>
        <Tab to="/jobs/schedules">{texts.schedules}</Tab>
      </nav>
      <Outlet />
    </main>
  )
}

function Tab({ to, children }: { to: string; children: string }) {
  return (
    <NavLink to={to} end className={({ isActive }) => `tab${isActive ? ' current' : ''}`}>
      {children}
    </NavLink>
  )
}

import { NavLink, Outlet } from 'react-router'
import { texts } from '../texts/jobs.ts'

/** The jobs, and the schedules that start some of them. */
export function JobsLayout() {
  return (
    <main className="page rows-page">
      <nav className="tabs" aria-label={texts.jobs}>
        <NavLink to="/jobs" end className="tab">
          {texts.history}
        </NavLink>
        <NavLink to="/jobs/schedules" className="tab">
          {texts.schedules}
        </NavLink>
      </nav>
      <Outlet />
    </main>
  )
}

import { NavLink } from 'react-router'
import { texts } from '../../texts/approvals.tsx'
import { useLiveApprovals } from './approvals.ts'

/** Leads to the calls that wait for the viewer, if there are any. */
export function ApprovalsLink() {
  const { data = [] } = useLiveApprovals()
  return (
    <span role="status">
      {data.length > 0 && (
        <NavLink to="/settings/approvals" className="badge warn">
          {texts.waiting(data.length)}
        </NavLink>
      )}
    </span>
  )
}

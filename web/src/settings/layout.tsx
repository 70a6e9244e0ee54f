/** The settings of a person and of the workspace. Each page is a file or a folder. */
import { NavLink, Outlet } from 'react-router'
import { usePermissions, useSession } from '../api/session.ts'
import { texts as approvalTexts } from '../texts/approvals.tsx'
import { texts as directoryTexts } from '../texts/directories.tsx'
import { texts as groupTexts } from '../texts/groups.tsx'
import { texts as issuerTexts } from '../texts/issuers.ts'
import { texts as securityTexts } from '../texts/security.tsx'
import { texts } from '../texts/settings.tsx'
import '../ui/parts.css'
import './settings.css'

export function SettingsLayout() {
  const { canRead, isAdmin, isUnrestricted } = usePermissions()
  const { workspace } = useSession()
  return (
    <div className="settings">
      <nav className="side-nav" aria-label={texts.settings}>
        <NavLink to="/settings/profile">{texts.profile}</NavLink>
        <NavLink to="/settings/security">{securityTexts.security}</NavLink>
        <NavLink to="/settings/api-keys">{texts.apiKeys}</NavLink>
        {workspace.approvals.length > 0 && <NavLink to="/settings/approvals">{approvalTexts.approvals}</NavLink>}
        {canRead && (
          <>
            <NavLink to="/settings/jobs">{texts.jobs}</NavLink>
            <NavLink to="/settings/schedules">{texts.schedules}</NavLink>
            <NavLink to="/settings/shares">{texts.shares}</NavLink>
          </>
        )}
        {isAdmin && (
          <>
            <NavLink to="/settings/storages">{texts.storages}</NavLink>
            {isUnrestricted && (
              <>
                <NavLink to="/settings/members">{texts.members}</NavLink>
                <NavLink to="/settings/groups">{groupTexts.groups}</NavLink>
                <NavLink to="/settings/service-accounts">{groupTexts.serviceAccounts}</NavLink>
                <NavLink to="/settings/directories">{directoryTexts.directories}</NavLink>
              </>
            )}
            <NavLink to="/settings/webhooks">{texts.webhooks}</NavLink>
            <NavLink to="/settings/audit">{texts.audit}</NavLink>
            {isUnrestricted && (
              <>
                <NavLink to="/settings/single-sign-on">{issuerTexts.singleSignOn}</NavLink>
                <NavLink to="/settings/workspace">{texts.workspace}</NavLink>
              </>
            )}
          </>
        )}
      </nav>
      <main>
        <Outlet />
      </main>
    </div>
  )
}

import type { ReactNode } from 'react'
import { Link, NavLink } from 'react-router'
import { usePermissions, useSession } from '../api/session.ts'
import { texts as approvalTexts } from '../texts/approvals.tsx'
import { texts as directoryTexts } from '../texts/directories.tsx'
import { texts as groupTexts } from '../texts/groups.tsx'
import { texts as issuerTexts } from '../texts/issuers.ts'
import { texts as notificationTexts } from '../texts/notifications.ts'
import { texts as overviewTexts } from '../texts/overview.ts'
import { texts as securityTexts } from '../texts/security.tsx'
import { texts } from '../texts/settings.tsx'
import { Icon } from '../ui/icons.tsx'

/** The settings in two groups: those of the person, and those of the workspace for its administrators. */
export function SettingsNav() {
  const { isAdmin, isUnrestricted } = usePermissions()
  const { workspace } = useSession()
  return (
    <nav className="main-nav settings-nav" aria-label={texts.settings}>
      <Link to="/files" className="nav-item nav-back">
        <Icon name="left" />
        <span>{texts.toFiles}</span>
      </Link>
      <Group title={texts.forYou}>
        <Item to="profile">{texts.profile}</Item>
        <Item to="security">{securityTexts.security}</Item>
        <Item to="notifications">{notificationTexts.title}</Item>
        <Item to="api-keys">{texts.apiKeys}</Item>
        {workspace.approvals.length > 0 && <Item to="approvals">{approvalTexts.approvals}</Item>}
      </Group>
      {isAdmin && (
        <Group title={workspace.name}>
          {isUnrestricted && (
            <>
              <Item to="overview">{overviewTexts.overview}</Item>
              <Item to="workspace">{texts.workspace}</Item>
            </>
          )}
          <Item to="storages">{texts.storages}</Item>
          {isUnrestricted && (
            <>
              <Item to="members">{texts.members}</Item>
              <Item to="groups">{groupTexts.groups}</Item>
              <Item to="service-accounts">{groupTexts.serviceAccounts}</Item>
              <Item to="directories">{directoryTexts.directories}</Item>
              <Item to="single-sign-on">{issuerTexts.singleSignOn}</Item>
            </>
          )}
          <Item to="webhooks">{texts.webhooks}</Item>
          <Item to="audit">{texts.audit}</Item>
        </Group>
      )}
    </nav>
  )
}

function Group({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section aria-label={title}>
      <h2 className="nav-title">{title}</h2>
      <div className="nav-group">{children}</div>
    </section>
  )
}

function Item({ to, children }: { to: string; children: string }) {
  return (
    <NavLink to={`/settings/${to}`} className="nav-item">
      <span>{children}</span>
    </NavLink>
  )
}

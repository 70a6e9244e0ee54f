/**
 * The frame of every page: its navigation, the menu of the account, and confirmations. It takes the open page, and
 * shows it inside the frame.
 *
 * This file has the navigation at the side: the storages with their folders, and the pages that are about all of them.
 */
import type { ReactNode } from 'react'
import { NavLink } from 'react-router'
import { usePermissions } from '../../api/session.ts'
import { trashHref } from '../../files/addresses.ts'
import { useOpenFolder } from '../../files/tree/open-folder.ts'
import { StorageTree } from '../../files/tree/tree.tsx'
import { texts } from '../../texts/app.tsx'
import { texts as homeTexts } from '../../texts/home.tsx'
import { texts as markTexts } from '../../texts/marks.ts'
import { Icon, type IconName } from '../../ui/icons.tsx'

export function SideNav({ onGo }: { onGo?: () => void }) {
  const { canRead, canWrite } = usePermissions()
  const openFolder = useOpenFolder()
  const go = onGo ?? (() => {})
  return (
    <nav className="main-nav" aria-label={texts.mainNavigation}>
      <Item to="/files" icon="home" end onGo={go}>
        {texts.homePage}
      </Item>
      {canRead && (
        <>
          <Item to="/recent" icon="clock" onGo={go}>
            {texts.recent}
          </Item>
          <Item to="/starred" icon="star" onGo={go}>
            {markTexts.starred}
          </Item>
        </>
      )}
      <Item to="/shared-with-me" icon="people" onGo={go}>
        {texts.sharedWithMe}
      </Item>
      {canRead && (
        <>
          <Item to="/shares" icon="share" onGo={go}>
            {texts.sharedByMe}
          </Item>
          <Item to="/activity" icon="activity" onGo={go}>
            {homeTexts.activity}
          </Item>
          <Item to="/jobs" icon="jobs" onGo={go}>
            {texts.jobs}
          </Item>
          {canWrite && (
            <Item to={openFolder ? trashHref(openFolder.providerId) : '/trash'} icon="trash" onGo={go}>
              {texts.trash}
            </Item>
          )}
          <StorageTree onOpen={go} />
        </>
      )}
      <div className="main-nav-end">
        <Item to="/settings" icon="settings" onGo={go}>
          {texts.settings}
        </Item>
      </div>
    </nav>
  )
}

function Item({
  to,
  icon,
  end = false,
  onGo,
  children,
}: {
  to: string
  icon: IconName
  /** Whether the pages below the address are others. */
  end?: boolean
  onGo: () => void
  children: ReactNode
}) {
  return (
    <NavLink to={to} className="nav-item" end={end} onClick={onGo}>
      <Icon name={icon} />
      <span>{children}</span>
    </NavLink>
  )
}

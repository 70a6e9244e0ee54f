import { NavLink } from 'react-router'
import { usePermissions } from '../../api/session.ts'
import { CreateButton } from '../../files/create/create-button.tsx'
import { texts } from '../../texts/app.tsx'
import { Icon, type IconName } from '../../ui/icons.tsx'

/** The navigation of phones, with a large button that adds files. */
export function BottomBar({ isMenuOpen, onMenu }: { isMenuOpen: boolean; onMenu: () => void }) {
  const { canRead, canWrite } = usePermissions()
  return (
    <nav className="bottom-bar" aria-label={texts.shortcuts}>
      <Item to="/files" icon="home" label={texts.homePage} end />
      {canRead && <Item to="/recent" icon="clock" label={texts.recent} />}
      {canWrite && <CreateButton />}
      <Item to={canRead ? '/shares' : '/shared-with-me'} icon={canRead ? 'share' : 'people'} label={texts.shared} />
      <button type="button" className="bottom-item" aria-haspopup="dialog" aria-expanded={isMenuOpen} onClick={onMenu}>
        <Icon name="menu" />
        <span>{texts.menu}</span>
      </button>
    </nav>
  )
}

function Item({ to, icon, label, end = false }: { to: string; icon: IconName; label: string; end?: boolean }) {
  return (
    <NavLink to={to} end={end} className="bottom-item">
      <Icon name={icon} />
      <span>{label}</span>
    </NavLink>
  )
}

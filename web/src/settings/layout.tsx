/** The settings of a person and of the workspace. Each page is a file or a folder. */
import { Outlet } from 'react-router'
import { useIsWide } from '../ui/window-size.ts'
import { SettingsNav } from './navigation.tsx'
import '../ui/parts.css'
import './settings.css'

/** A wide window shows the navigation of the settings at its side, and others above the page. */
export function SettingsLayout() {
  const isWide = useIsWide()
  return (
    <div className="page settings">
      {!isWide && <SettingsNav />}
      <main>
        <Outlet />
      </main>
    </div>
  )
}

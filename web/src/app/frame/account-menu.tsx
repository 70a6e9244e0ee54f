import { Suspense, useRef, useState } from 'react'
import { useNavigate } from 'react-router'
import { canKeep } from '../../api/device.ts'
import { useSession } from '../../api/session.ts'
import { lazyPart } from '../../lib/load-part.ts'
import { texts } from '../../texts/app.tsx'
import { common } from '../../texts/common.ts'
import { texts as offlineTexts } from '../../texts/offline.ts'
import { Avatar } from '../../ui/avatar.tsx'
import { useInstall } from '../../ui/installation.ts'
import { setTheme, type Theme, useTheme } from '../../ui/theme.ts'

const ActionMenu = lazyPart(async () => (await import('../../ui/menu.tsx')).ActionMenu)
const LanguageDialog = lazyPart(async () => (await import('../../ui/language-select.tsx')).LanguageDialog)

const themes: readonly { id: Theme; icon: 'light' | 'dark' | 'system' }[] = [
  { id: 'light', icon: 'light' },
  { id: 'dark', icon: 'dark' },
  { id: 'system', icon: 'system' },
]

/** The menu of the account. It names the person, leads to their settings, sets the colors, installs the console and signs them out. */
export function AccountMenu({ onSignOut }: { onSignOut: () => void }) {
  const { user } = useSession().viewer
  const navigate = useNavigate()
  const theme = useTheme()
  const install = useInstall()
  const [isOpen, setOpen] = useState(false)
  const [isLanguageOpen, setLanguageOpen] = useState(false)
  const button = useRef<HTMLButtonElement>(null)
  const name = user.name ?? user.email
  return (
    <>
      <button
        ref={button}
        type="button"
        className="avatar-button"
        aria-label={texts.account}
        aria-haspopup="menu"
        aria-expanded={isOpen}
        title={user.email}
        onClick={() => setOpen(true)}
      >
        <Avatar name={name} />
      </button>
      {isOpen && (
        <Suspense>
          <ActionMenu
            anchor={button}
            label={texts.account}
            placement="bottom end"
            head={
              <div className="menu-head account-head">
                <Avatar name={name} />
                <div>
                  <div className="account-name">{name}</div>
                  {user.name !== null && <div className="help">{user.email}</div>}
                </div>
              </div>
            }
            groups={[
              {
                actions: [
                  {
                    id: 'profile',
                    label: texts.yourSettings,
                    icon: 'settings',
                    run: () => void navigate('/settings/profile'),
                  },
                  { id: 'language', label: texts.language, icon: 'language', run: () => setLanguageOpen(true) },
                  ...(canKeep
                    ? [
                        {
                          id: 'offline',
                          label: offlineTexts.title,
                          icon: 'offline',
                          run: () => void navigate('/offline'),
                        } as const,
                      ]
                    : []),
                  ...(install ? [{ id: 'install', label: texts.install, icon: 'install', run: install } as const] : []),
                ],
              },
              {
                title: texts.theme,
                chosen: theme,
                actions: themes.map(({ id, icon }) => ({
                  id,
                  label: texts.themes[id],
                  icon,
                  run: () => setTheme(id),
                })),
              },
              { actions: [{ id: 'sign-out', label: common.signOut, icon: 'sign-out', run: onSignOut }] },
            ]}
            onClose={() => setOpen(false)}
          />
        </Suspense>
      )}
      {isLanguageOpen && (
        <Suspense>
          <LanguageDialog onClose={() => setLanguageOpen(false)} />
        </Suspense>
      )}
    </>
  )
}

import { useSession } from '../../api/use-session.ts'
import { texts } from '../../texts/settings.tsx'
import { PageTitle } from '../../ui/page-title.tsx'
import { NameForm } from './name-form.tsx'
import { PasswordForm } from './password-form.tsx'
import { Sessions } from './sessions.tsx'

export function Profile() {
  const { user, scopes, providerAccess } = useSession().viewer
  return (
    <>
      <PageTitle>{texts.profile}</PageTitle>
      <h1>{texts.profile}</h1>
      <dl className="facts">
        <dt>{texts.email}</dt>
        <dd>{user.email}</dd>
        <dt>{texts.role}</dt>
        <dd>
          {scopes.length > 0 && !providerAccess.all
            ? texts.someStorages(texts.roles[user.role])
            : texts.roles[user.role]}
        </dd>
      </dl>
      {user.role === 'NONE' && <p className="notice">{texts.noRole}</p>}
      <NameForm name={user.name} />
      <h2>{texts.password}</h2>
      <PasswordForm email={user.email} />
      <h2>{texts.sessions}</h2>
      <p className="help">{texts.sessionsHelp}</p>
      <Sessions />
    </>
  )
}

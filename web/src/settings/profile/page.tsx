import { useSession } from '../../app/use-session.ts'
import { PageTitle } from '../../ui/page-title.tsx'
import { roleTitles } from '../access/draft.ts'
import { PasswordForm } from './password-form.tsx'
import { Sessions } from './sessions.tsx'

export function Profile() {
  const { user, scopes, providerAccess } = useSession().viewer
  return (
    <>
      <PageTitle>Profile</PageTitle>
      <h1>Profile</h1>
      <dl className="facts">
        <dt>Name</dt>
        <dd>{user.name ?? 'not given'}</dd>
        <dt>Email</dt>
        <dd>{user.email}</dd>
        <dt>Role</dt>
        <dd>
          {roleTitles[user.role]}
          {scopes.length > 0 && !providerAccess.all && ', on some providers'}
        </dd>
      </dl>
      {user.role === 'NONE' && (
        <p className="notice">You have no access to any files yet: ask an administrator to give you a role.</p>
      )}
      <h2>Password</h2>
      <PasswordForm email={user.email} />
      <h2>Sessions</h2>
      <p className="help">Wherever you are signed in. End what you do not know, and change the password.</p>
      <Sessions />
    </>
  )
}

import { useSession } from '../../api/use-session.ts'
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
        <dd>{user.name ?? 'Not set'}</dd>
        <dt>Email</dt>
        <dd>{user.email}</dd>
        <dt>Role</dt>
        <dd>
          {roleTitles[user.role]}
          {scopes.length > 0 && !providerAccess.all && ', on some storages'}
        </dd>
      </dl>
      {user.role === 'NONE' && (
        <p className="notice">You do not have access to any files yet. Ask an administrator to give you a role.</p>
      )}
      <h2>Password</h2>
      <PasswordForm email={user.email} />
      <h2>Sessions</h2>
      <p className="help">
        Each place where you are signed in. If you do not recognize a session, end it and change your password.
      </p>
      <Sessions />
    </>
  )
}

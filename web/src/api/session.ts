import { StowageError, stowage } from './client.ts'
import { graphql, type ResultOf } from './graphql.ts'
import { ask } from './request.ts'

const ViewerQuery = graphql(`
  query Viewer {
    viewer {
      scopes
      providerAccess { all }
      user { id email name role }
    }
    workspace { id name registration sendsEmail }
  }
`)

const InstallationQuery = graphql(`
  query Installation {
    installation { hasOwner needsSetupCode registration }
  }
`)

const LoginMutation = graphql(`
  mutation Login($input: LoginInput!) {
    login(input: $input) { token }
  }
`)

const RegisterMutation = graphql(`
  mutation Register($input: RegisterInput!) {
    register(input: $input) { token }
  }
`)

const ResetPasswordMutation = graphql(`
  mutation ResetPassword($input: ResetPasswordInput!) {
    resetPassword(input: $input)
  }
`)

const LogoutMutation = graphql(`
  mutation Logout { logout }
`)

/** Tells the other tabs of this browser about a sign-in or sign-out, because all tabs share the cookie. */
const tabs = new BroadcastChannel('stowage.session')

/** Calls the listener when another tab signs in or out. */
export function onSignInElsewhere(listener: () => void): void {
  tabs.addEventListener('message', listener)
}

export type Session = ResultOf<typeof ViewerQuery>

/** Returns null if nobody is signed in. @throws StowageError */
export async function currentSession(): Promise<Session | null> {
  try {
    return await ask(ViewerQuery, {})
  } catch (error) {
    if (!(error instanceof StowageError)) throw error
    if (error.status === 401) await deleteCookie()
    if (error.status === 401 || error.reason === 'CREDENTIAL_REQUIRED') return null
    throw error
  }
}

/** @throws StowageError */
export async function installation() {
  return (await ask(InstallationQuery, {}, { isAnonymous: true })).installation
}

/** @throws StowageError */
export async function signIn(email: string, password: string): Promise<void> {
  const { login } = await ask(LoginMutation, { input: { email, password } }, { isAnonymous: true })
  await storeInCookie(login.token)
}

/** @throws StowageError */
export async function register(input: {
  email: string
  password: string
  name?: string
  invite?: string
  setupCode?: string
}): Promise<void> {
  const { register } = await ask(RegisterMutation, { input }, { isAnonymous: true })
  await storeInCookie(register.token)
}

/** Sets a new password with the token of a link. @throws StowageError */
export async function resetPassword(token: string, newPassword: string): Promise<void> {
  await ask(ResetPasswordMutation, { input: { token, newPassword } }, { isAnonymous: true })
}

export async function signOut(): Promise<void> {
  await ask(LogoutMutation, {}).catch(() => {})
  await deleteCookie()
}

/** Exchanges the token for an HttpOnly cookie, which no script can read. @throws StowageError */
async function storeInCookie(token: string): Promise<void> {
  await stowage.request('/console/session', { method: 'POST', headers: { authorization: `Bearer ${token}` } })
  tabs.postMessage(null)
}

async function deleteCookie(): Promise<void> {
  await stowage.request('/console/session', { method: 'DELETE' })
  tabs.postMessage(null)
}

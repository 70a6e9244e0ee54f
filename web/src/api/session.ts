import { graphql, type ResultOf } from './graphql.ts'
import { ApiError, ask, send } from './request.ts'

const ViewerQuery = graphql(`
  query Viewer {
    viewer {
      scopes
      providerAccess { all }
      user { id email name role }
    }
    workspace { id name registration }
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

const LogoutMutation = graphql(`
  mutation Logout { logout }
`)

/** Who signs in or out does so in all tabs of this browser, as they share the cookie. */
const tabs = new BroadcastChannel('stowage.session')

/** For what another tab does, not this one. */
export function onSessionOfOtherTab(listener: () => void): void {
  tabs.addEventListener('message', listener)
}

export type Session = ResultOf<typeof ViewerQuery>

/** Null where nobody is signed in. @throws ApiError */
export async function currentSession(): Promise<Session | null> {
  try {
    return await ask(ViewerQuery, {})
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    if (error.status === 401) await forgetCookie()
    if (error.status === 401 || error.reason === 'CREDENTIAL_REQUIRED') return null
    throw error
  }
}

export async function installation() {
  return (await ask(InstallationQuery, {}, { asVisitor: true })).installation
}

/** @throws ApiError */
export async function signIn(email: string, password: string): Promise<void> {
  const { login } = await ask(LoginMutation, { input: { email, password } }, { asVisitor: true })
  await keepInCookie(login.token)
}

/** @throws ApiError */
export async function register(input: {
  email: string
  password: string
  name?: string
  invite?: string
  setupCode?: string
}): Promise<void> {
  const { register } = await ask(RegisterMutation, { input }, { asVisitor: true })
  await keepInCookie(register.token)
}

export async function signOut(): Promise<void> {
  await ask(LogoutMutation, {}).catch(() => {})
  await forgetCookie()
}

/** From here on no script holds the token. */
export async function keepInCookie(token: string): Promise<void> {
  const answer = await send('/console/session', { method: 'POST', headers: { Authorization: `Bearer ${token}` } })
  if (!answer.ok) throw new ApiError('The session could not be kept.', { status: answer.status, reason: 'UNKNOWN' })
  tabs.postMessage(null)
}

export async function forgetCookie(): Promise<void> {
  await send('/console/session', { method: 'DELETE' })
  tabs.postMessage(null)
}

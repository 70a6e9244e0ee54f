/** How a client of SSH proves who it is: with a public key, or with an API key as its password. */
import type { AuthContext, AuthenticationType, KeyboardAuthContext } from 'ssh2'
import { isApiKey } from '../../auth/api-key.ts'
import type { Origin, Viewer } from '../../auth/viewer.ts'
import { AppError } from '../../errors.ts'
import type { Services } from '../../services/index.ts'
import { verifySignature } from '../../services/people/ssh-public-keys.ts'

/** Some clients know only `keyboard-interactive`, and some scripts only look for the word that its question ends with. */
export const methods: AuthenticationType[] = ['publickey', 'password', 'keyboard-interactive']
const question = { prompt: 'Password: ', echo: false }
const instruction = 'Use an API key as the password.'

/** Whether the client only asks if a public key is known. */
export function isOffer(context: AuthContext): boolean {
  return context.method === 'publickey' && !context.signature
}

/** Continues an authentication that has tried no credential yet. */
export function offer(context: AuthContext): void {
  // Says that the public key is known, so that the client signs with it.
  if (context.method === 'publickey') context.accept()
  else context.reject(methods)
}

/** Returns the viewer of a credential; null if the client only asks which methods or keys there are. @throws as `Credentials.authenticate` */
export async function authenticate(services: Services, context: AuthContext, origin: Origin): Promise<Viewer | null> {
  switch (context.method) {
    case 'publickey': {
      const { key, blob, signature, hashAlgo: algorithm, username } = context
      const isSigned = blob && signature && (() => verifySignature(key.data, { blob, signature, algorithm }))
      const login = { publicKey: key.data, email: username }
      return services.credentials.authenticatePublicKey(login, isSigned ?? null, origin)
    }
    case 'password':
      return withPassword(services, context.password, origin)
    case 'keyboard-interactive':
      return withPassword(services, await ask(context), origin)
    default:
      return null
  }
}

async function withPassword(
  { credentials, requestLimits }: Services,
  password: string,
  origin: Origin,
): Promise<Viewer> {
  if (isApiKey(password)) return credentials.authenticate(password, origin)
  requestLimits.countGuess(origin.address)
  throw new AppError('INVALID_CREDENTIAL', 'Use an API key as the password, and any user name.')
}

/** Asks for the password. The deadline of the login bounds the wait. */
async function ask(context: KeyboardAuthContext): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<unknown>()
  context.prompt([question], '', instruction, resolve)
  const answers = await promise
  return Array.isArray(answers) ? String(answers[0]) : ''
}

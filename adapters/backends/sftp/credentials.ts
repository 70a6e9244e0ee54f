import ssh2, { type AnyAuthMethod, type ParsedKey } from 'ssh2'
import { StorageError } from '../../contract.ts'
import type { SftpSettings } from './config.ts'

/**
 * Returns the ways to sign in, in the order in which they are tried. Call it once for all connections, because decrypting a
 * private key takes a quarter of a second by design.
 * @throws INVALID_CONFIG for a key that cannot be read
 */
export function signIns({ user: username, password, privateKey, passphrase }: SftpSettings): AnyAuthMethod[] {
  const ways: AnyAuthMethod[] = []
  if (privateKey !== undefined) ways.push({ type: 'publickey', username, key: parseKey(privateKey, passphrase) })
  if (password === undefined) return ways
  return [
    ...ways,
    { type: 'password', username, password },
    // Servers without passwords often ask the same question in this way.
    {
      type: 'keyboard-interactive',
      username,
      prompt: (_name, _text, _language, prompts, answer) => answer(prompts.map(() => password)),
    },
  ]
}

function parseKey(privateKey: string, passphrase: string | undefined): ParsedKey {
  const parsed = ssh2.utils.parseKey(privateKey, passphrase)
  const [key] = Array.isArray(parsed) ? parsed : [parsed]
  if (key && !(key instanceof Error) && key.isPrivateKey()) return key
  const message = 'The private key cannot be read: paste the whole file of the key, and its passphrase if it has one.'
  const cause = key instanceof Error ? key : undefined
  throw new StorageError('INVALID_CONFIG', message, { cause, property: { name: 'privateKey' } })
}

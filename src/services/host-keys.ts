/** The keys with which every replica proves to clients of SFTP that it is this server. The first start with SFTP makes them. */
import type { Secrets } from '../auth/secrets.ts'
import type { Database } from '../db/client.ts'
import { insertHostKey, listHostKeys } from '../db/host-keys.ts'
import type { Redactor } from '../storage/tokens.ts'
import { fingerprintOf } from './people/ssh-public-keys.ts'

/** The types of keys, as SSH names them. Every client in use knows one of them, and they are made within a millisecond. */
const kinds = { 'ssh-ed25519': 'ed25519', 'ecdsa-sha2-nistp256': 'ecdsa' } as const
type KeyType = keyof typeof kinds
const types = Object.keys(kinds) as KeyType[]

export function createHostKeys({ db, secrets, redaction }: { db: Database; secrets: Secrets; redaction: Redactor }) {
  async function make(type: KeyType): Promise<void> {
    const { utils } = (await import('ssh2')).default
    const pair =
      kinds[type] === 'ecdsa' ? utils.generateKeyPairSync('ecdsa', { bits: 256 }) : utils.generateKeyPairSync('ed25519')
    const [, encoded = ''] = pair.public.split(' ')
    const publicKey = Buffer.from(encoded, 'base64')
    await insertHostKey(db, { type, publicKey, privateKey: secrets.seal('host-key', type, pair.private) })
  }

  return {
    /** Returns the private keys in the format of OpenSSH. Makes those that are missing. */
    async privateKeys(): Promise<string[]> {
      const known = new Set((await listHostKeys(db)).map(({ type }) => type))
      for (const type of types) if (!known.has(type)) await make(type)
      const keys = (await listHostKeys(db)).map(({ type, privateKey }) => secrets.open('host-key', type, privateKey))
      redaction.hold(...keys)
      return keys
    },

    /** Returns what clients show of the keys: `SHA256:...`, as OpenSSH prints it. Empty before the first start with SFTP. */
    async fingerprints(): Promise<{ type: string; fingerprint: string }[]> {
      const keys = await listHostKeys(db)
      return keys.map(({ type, publicKey }) => ({ type, fingerprint: fingerprintOf(publicKey) }))
    },
  }
}

/** The keys with which every replica proves to clients of SFTP that it is this server. The first start with SFTP makes them. */
import type { Secrets } from '../auth/secrets.ts'
import type { Database } from '../db/client.ts'
import { insertHostKey, listHostKeys } from '../db/host-keys.ts'
import type { Redactor } from '../storage/tokens.ts'
import { fingerprintOf } from './people/ssh-public-keys.ts'

/** The types of keys, as SSH names them. Every client in use supports one of them, and making both takes about a millisecond. */
const types = ['ssh-ed25519', 'ecdsa-sha2-nistp256'] as const

type HostKeyType = (typeof types)[number]

/**
 * Generates a pair of keys in the formats of OpenSSH. `ssh2` drops a zero at the beginning of one of about 200 Ed25519 keys, and then
 * nobody can parse the pair, so such a pair is not used.
 */
export async function generateSshKeys(type: HostKeyType): Promise<{ private: string; public: string }> {
  const { utils } = (await import('ssh2')).default
  for (;;) {
    const pair =
      type === 'ssh-ed25519' ? utils.generateKeyPairSync('ed25519') : utils.generateKeyPairSync('ecdsa', { bits: 256 })
    const isParsed = [pair.private, pair.public].every(text => !(utils.parseKey(text) instanceof Error))
    if (isParsed) return pair
  }
}

export function createHostKeys({ db, secrets, redaction }: { db: Database; secrets: Secrets; redaction: Redactor }) {
  async function make(type: HostKeyType): Promise<void> {
    const pair = await generateSshKeys(type)
    const [, encoded = ''] = pair.public.split(' ')
    const publicKey = Buffer.from(encoded, 'base64')
    await insertHostKey(db, { type, publicKey, privateKey: secrets.seal('host-key', type, pair.private) })
  }

  return {
    /** Returns the private keys in the format of OpenSSH. Makes those that are missing. */
    async privateKeys(): Promise<string[]> {
      const known = await listHostKeys(db)
      const missing = types.filter(type => !known.some(key => key.type === type))
      for (const type of missing) await make(type)
      // Another server may have stored its own key first.
      const stored = missing.length > 0 ? await listHostKeys(db) : known
      const keys = stored.map(({ type, privateKey }) => secrets.open('host-key', type, privateKey))
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

/** An SSH server in this process that only signs people in. */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import ssh2, { type AuthContext } from 'ssh2'
import { generateSshKeys } from '../../src/services/host-keys.ts'

interface Scope {
  teardown(run: () => void): unknown
}

/** @param authenticate accepts or rejects each attempt to sign in */
export async function startFakeSsh(
  t: Scope,
  authenticate: (context: AuthContext) => unknown,
): Promise<{ port: number; fingerprint: string }> {
  const keys = await generateSshKeys('ssh-ed25519')
  const key = ssh2.utils.parseKey(keys.public)
  if (key instanceof Error) throw key
  const clients = new Set<ssh2.Connection>()
  const server = new ssh2.Server({ hostKeys: [keys.private] }, client => {
    clients.add(client)
    client.on('error', () => {}).on('authentication', authenticate)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => {
    for (const client of clients) client.end()
    server.close()
  })
  const digest = createHash('sha256').update(key.getPublicSSH()).digest('base64').replace(/=$/, '')
  return { port: (server.address() as AddressInfo).port, fingerprint: `SHA256:${digest}` }
}
